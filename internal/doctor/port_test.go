package doctor_test

import (
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agenthost/bus/bustest"
	"agenthost/host/hosttest"
	"agenthost/internal/doctor"
)

// A port that a host took before it was killed may be that of another program by now. With port 0
// the next host takes another.
func TestDoctorOfAPortOfBefore(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(answerWith(200, "hello"))
	defer web.Close()
	alone, _ := bustest.Server(t)
	for url, want := range map[string]string{web.URL: "taken by something else", alone: "held by a NATS server with no host"} {
		_, address, _ := strings.Cut(url, "//")
		cfg := hosttest.Demo(t)
		any := "127.0.0.1:0"
		cfg.NATS.Embedded.Listen = &any
		file := cfg.NATS.Embedded.AddressFile()
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(address+"\n"), 0o600)); err != nil {
			t.Fatal(err)
		}
		_, lines := examine(t, doctor.Doctor{Config: cfg, Within: time.Second})
		wantLine(t, lines, "warn ports nats.embedded.listen "+address+", where a host has listened, is "+want)
	}
}
