package natsserver_test

import (
	"strings"
	"testing"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/internal/natsserver"

	"github.com/rs/zerolog"
)

func TestServerLogIsOurs(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		level   zerolog.Level
		want    []string
		without []string
	}{
		"trace": {zerolog.TraceLevel, []string{`{"level":"debug","message":"Starting nats-server"}`, `{"level":"trace",`}, nil},
		"debug": {zerolog.DebugLevel, []string{`{"level":"debug","message":"Starting nats-server"}`}, []string{`"trace"`}},
		"info":  {zerolog.InfoLevel, []string{`{"level":"warn","message":"Plaintext passwords`}, []string{`"debug"`, `"info"`}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			cfg := bustest.Config(t)
			cfg.Embedded.Config = bustest.WriteFile(t, "nats.conf", "authorization {user: ann, password: secret}")
			cfg.User, cfg.Password = "ann", "secret"
			var log bustest.LogBuffer
			b, err := natsserver.Open(t.Context(), bus.Options{Log: zerolog.New(&log).Level(tt.level), Config: cfg})
			if err != nil {
				t.Fatal(err)
			}
			b.Close()
			for _, want := range tt.want {
				if !strings.Contains(log.String(), want) {
					t.Errorf("got %s, want %s in it", log.String(), want)
				}
			}
			for _, without := range tt.without {
				if strings.Contains(log.String(), without) {
					t.Errorf("got %s, want no %s in it", log.String(), without)
				}
			}
		})
	}
}
