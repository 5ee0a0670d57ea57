package doctor_test

import (
	"fmt"
	"strings"
	"testing"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/host/hosttest"
	"agenthost/internal/doctor"

	"github.com/nats-io/nats-server/v2/server"
)

// An account without storage, or with too little, is found, and one without a limit is not.
func TestDoctorOfStorage(t *testing.T) {
	t.Parallel()
	for limits, want := range map[string]string{
		"enabled":                   "",
		"{max_file: 0, max_mem: 0}": "fail nats server its account has no storage → give the account more storage: max_file",
		"{max_file: 1GB}":           "ok nats server 0% of the storage of its account is taken (0 bytes of 1.1 GB)",
	} {
		t.Run(limits, func(t *testing.T) {
			t.Parallel()
			url, _ := bustest.Server(t, func(o *server.Options) {
				var with server.Options
				if err := with.ProcessConfigString(fmt.Sprintf(
					`accounts { A { jetstream: %s, users: [{user: ann, password: secret}] } }`, limits)); err != nil {
					t.Error(err)
					return
				}
				o.Accounts, o.Users = with.Accounts, with.Users
			})
			cfg := hosttest.Demo(t)
			cfg.NATS = bus.Config{URL: url, User: "ann", Password: "secret", Embedded: bus.Embedded{Store: t.TempDir()}}
			_, lines := examine(t, doctor.Doctor{Config: cfg})
			if want != "" {
				wantLine(t, lines, want)
			} else if all := strings.Join(lines, "\n"); strings.Contains(all, "storage") {
				t.Errorf("got %s, want nothing of storage", all)
			}
		})
	}
}
