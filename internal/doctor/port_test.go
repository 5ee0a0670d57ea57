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

// Whether an address can be listened on is said of each that is configured.
func TestDoctorOfAddresses(t *testing.T) {
	t.Parallel()
	const here, elsewhere = "127.0.0.1:0", "203.0.113.1:4222"
	for listen, want := range map[string][]string{
		here:      {"ok nats server embedded: it starts with the host", "ok ports nats.embedded.listen 127.0.0.1:0 is free", "ok ports http.listen 127.0.0.1:0 is free"},
		elsewhere: {"fail ports nats.embedded.listen … → set it to an address of this machine", "fail ports http.listen … → set it to an address of this machine"},
		"":        {"ok nats server embedded, without a port", "ok ports http.listen there is no HTTP"},
	} {
		cfg := hosttest.Demo(t)
		cfg.HTTP.Listen, cfg.NATS.Embedded.Listen = listen, &listen
		_, lines := examine(t, doctor.Doctor{Config: cfg, Offline: true})
		for _, line := range want {
			wantLine(t, lines, line)
		}
	}
	cfg := hosttest.Demo(t)
	cfg.NATS.Embedded.Listen, cfg.NATS.Embedded.Config = nil, "nats.conf"
	_, lines := examine(t, doctor.Doctor{Config: cfg, Offline: true})
	wantLine(t, lines, "ok nats server embedded, with the port of nats.conf")
}
