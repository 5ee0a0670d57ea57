//go:build long

package plugins_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agenthost/bus/bustest"
	"agenthost/plugins"
	"agenthost/plugins/settings"
)

func TestReconnects(t *testing.T) {
	s := time.Second
	lost := errors.New("connection reset")
	tests := map[string]struct {
		run   func(ctx context.Context, n int, in *plugins.Inbox) error
		want  []time.Duration // when it is run, in ten minutes
		state string
		err   string
	}{
		"it stays": {
			func(ctx context.Context, _ int, in *plugins.Inbox) error {
				in.Connected("bot")
				<-ctx.Done()
				return nil
			},
			[]time.Duration{0},
			plugins.StateConnected, "",
		},
		"it cannot connect": {
			func(context.Context, int, *plugins.Inbox) error { return lost },
			[]time.Duration{0, s, 3 * s, 7 * s, 15 * s, 31 * s, 63 * s, 123 * s, 183 * s, 243 * s, 303 * s, 363 * s, 423 * s, 483 * s, 543 * s},
			plugins.StateRetrying, "connection reset",
		},
		"it was connected for long": {
			func(ctx context.Context, n int, in *plugins.Inbox) error {
				if n < 4 {
					return lost
				}
				in.Connected("bot")
				if n > 5 {
					<-ctx.Done()
				}
				time.Sleep(time.Minute)
				return lost
			},
			[]time.Duration{0, s, 3 * s, 7 * s, 68 * s, 129 * s},
			plugins.StateConnected, "",
		},
		"as long as the platform says": {
			func(ctx context.Context, n int, in *plugins.Inbox) error {
				if n == 1 {
					return &plugins.RateLimitError{After: 2 * time.Minute, Err: errors.New("429")}
				}
				in.Connected("bot")
				<-ctx.Done()
				return nil
			},
			[]time.Duration{0, 120 * s},
			plugins.StateConnected, "",
		},
		"it is refused": {
			func(context.Context, int, *plugins.Inbox) error {
				return plugins.NoLogin(errors.New("401 unauthorized"))
			},
			[]time.Duration{0, 300 * s},
			plugins.StateRefused, "401 unauthorized",
		},
		"it panics": {
			func(ctx context.Context, n int, in *plugins.Inbox) error {
				if n == 1 {
					panic("nil map")
				}
				in.Connected("bot")
				<-ctx.Done()
				return nil
			},
			[]time.Duration{0, s},
			plugins.StateConnected, "",
		},
		"it ends": {
			func(ctx context.Context, n int, in *plugins.Inbox) error {
				if n > 1 {
					<-ctx.Done()
				}
				return nil
			},
			[]time.Duration{0, s},
			plugins.StateConnecting, "the channel has ended the connection",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			bustest.Bubble(t, func(t *testing.T) {
				b := connect(t, "")
				ch := &scripted{Channel: newMemory(chatLimits()), run: tt.run, start: time.Now()}
				h := startHost(t, b, "host-1", ch, settings.Account{})
				time.Sleep(9*time.Minute + 50*time.Second)
				st := h.courier.Status()
				h.stop()
				if diff := cmp.Diff(tt.want, ch.runs); diff != "" {
					t.Errorf("runs: %s", diff)
				}
				if st.State != tt.state || st.LastError != tt.err || !st.Owner || (st.State == plugins.StateConnected) == st.Since.IsZero() {
					t.Errorf("status: %+v", st)
				}
				if st.State == plugins.StateConnected && st.As != "bot" {
					t.Errorf("connected as %q", st.As)
				}
				if n := strings.Count(h.log.String(), "401"); name == "it is refused" && n != len(tt.want) {
					t.Errorf("%d lines in the log, want %d:\n%s", n, len(tt.want), h.log)
				}
				if st := h.courier.Status(); st.Owner || st.State != plugins.StateStopped {
					t.Errorf("after the end: %+v", st)
				}
			})
		})
	}
}
