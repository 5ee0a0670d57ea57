package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"testing"

	"agenthost/bus"
	"agenthost/bus/bustest"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
)

// Flags go before the environment, and that before the file; credentials stay
// with the address that they are for.
func TestNATSFlagsOverFile(t *testing.T) {
	embedded := bus.Embedded{Store: "data"}
	tests := map[string]struct {
		flags, file, want bus.Config
		env               map[string]string
	}{
		"nothing":          {},
		"file":             {file: bus.Config{URL: "f", User: "fu", Lanes: 2}, want: bus.Config{URL: "f", User: "fu", Lanes: 2}},
		"flag over file":   {flags: bus.Config{URL: "s"}, file: bus.Config{URL: "f", User: "fu", Lanes: 2}, want: bus.Config{URL: "s", Lanes: 2}},
		"env over file":    {env: map[string]string{"NATS_URL": "e"}, file: bus.Config{URL: "f", Token: "ft"}, want: bus.Config{URL: "e"}},
		"flag over env":    {flags: bus.Config{URL: "s"}, env: map[string]string{"NATS_URL": "e"}, want: bus.Config{URL: "s"}},
		"over embedded":    {flags: bus.Config{Context: "c"}, file: bus.Config{Embedded: embedded}, want: bus.Config{Context: "c", Embedded: embedded}},
		"inbox of a url":   {flags: bus.Config{URL: "s"}, file: bus.Config{InboxPrefix: "_I"}, want: bus.Config{URL: "s", InboxPrefix: "_I"}},
		"of a context":     {flags: bus.Config{Context: "c"}, file: bus.Config{InboxPrefix: "_I"}, want: bus.Config{Context: "c"}},
		"flag user":        {flags: bus.Config{User: "u", Password: "p"}, file: bus.Config{URL: "f", Token: "ft"}, want: bus.Config{URL: "f", User: "u", Password: "p"}},
		"env user":         {env: map[string]string{"NATS_USER": "u", "NATS_PASSWORD": "p"}, file: bus.Config{URL: "f"}, want: bus.Config{URL: "f", User: "u", Password: "p"}},
		"file user stays":  {env: map[string]string{"NATS_USER": "u"}, file: bus.Config{URL: "f", Creds: "fc"}, want: bus.Config{URL: "f", Creds: "fc"}},
		"user of flag url": {flags: bus.Config{URL: "s"}, env: map[string]string{"NATS_TOKEN": "t"}, want: bus.Config{URL: "s", Token: "t"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := NATSFlags{tt.flags}
			got := f.over(tt.file, func(name string) string { return tt.env[name] })
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// A token that this user may not read is that of a host: nothing is wrong with its configuration.
func TestUnreachableWithoutTheToken(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile(DefaultConfig, []byte("agents: [{id: ana, model: \"${NO_SUCH_MODEL}\"}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a := &App{Getenv: func(string) string { return "" }}
	denied := fmt.Errorf("read the token: %w", fs.ErrPermission)
	if got := a.Unreachable(denied); !errors.Is(got, fs.ErrPermission) || strings.Contains(got.Error(), "NO_SUCH_MODEL") {
		t.Errorf("got %v", got)
	}
}

// Who answers with nothing, or hangs up, is no NATS that runs.
func TestConnectToWhatIsNoNATS(t *testing.T) {
	for name, linger := range map[string]int{"closes": -1, "resets": 0} {
		t.Run(name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			go func() {
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					_ = c.(*net.TCPConn).SetLinger(linger)
					_ = c.Close()
				}
			}()
			a := &App{Getenv: func(string) string { return "" }, NATS: NATSFlags{bus.Config{URL: "nats://" + l.Addr().String()}}}
			_, err = a.Connect(t.Context())
			if err == nil || !strings.Contains(err.Error(), `start a host with "agenthost run"`) {
				t.Errorf("got %v, want what would help", err)
			}
		})
	}
}

// What a command asks of a NATS that is gone by then ends in the words of the
// client: the error says what has happened, and what to do.
func TestConnectionLostMeanwhile(t *testing.T) {
	url, n := bustest.Server(t)
	a := &App{Getenv: func(string) string { return "" }, NATS: NATSFlags{bus.Config{URL: url}}}
	c, err := a.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	nc := c.NATS()
	lost, notes := make(chan struct{}), nc.DisconnectErrHandler()
	nc.SetDisconnectErrHandler(func(nc *nats.Conn, err error) {
		notes(nc, err)
		close(lost)
	})
	n.Stop()
	<-lost
	err = nc.Publish("agenthost.status", nil)
	if err = c.Explain(err); err == nil || !strings.Contains(err.Error(), "the connection to NATS was lost") {
		t.Errorf("got %v, want what has happened", err)
	}
	if got := c.Explain(errors.New("no such agent")).Error(); got != "no such agent" {
		t.Errorf("got %q, want it as it was", got)
	}
}
