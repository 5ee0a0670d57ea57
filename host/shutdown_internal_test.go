package host

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"agenthost/config"

	"github.com/rs/zerolog"
)

// A part that does not return holds up no stop for ever; one that ends late is waited for.
func TestStopIsBounded(t *testing.T) {
	for name, tt := range map[string]struct {
		takes time.Duration // from when the host is to end
		want  string
	}{
		"it ends":            {time.Second, "its own error"},
		"it ends late":       {39 * time.Second, "its own error"},
		"it does not return": {time.Hour, "a part of the host does not return, 10s after the grace of 30s"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := New(Options{Config: config.Demo(), Log: zerolog.Nop()})
				ctx, stop := context.WithCancel(t.Context())
				time.AfterFunc(time.Minute, stop)
				began := time.Now()
				err := h.bounded(10*time.Second, func() error {
					h.work(ctx)
					<-ctx.Done()
					time.Sleep(tt.takes)
					return errors.New("its own error")
				})
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("got %v, want %s", err, tt.want)
				}
				if took := time.Since(began); took != time.Minute+min(tt.takes, 40*time.Second) {
					t.Errorf("it took %s", took)
				}
				time.Sleep(tt.takes) // what was left behind ends, too
			})
		})
	}
}
