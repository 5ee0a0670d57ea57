package bus_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"
	"go.uber.org/goleak"
)

func TestDial(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	url, srv := bustest.Server(t)
	defer srv.Stop()
	address := strings.TrimPrefix(url, "nats://")
	for name, cfg := range map[string]bus.Config{
		"by url":                          {URL: url},
		"where the embedded server would": {Embedded: bus.Embedded{Listen: &address}},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			nc, js, err := bus.Dial(ctx, cfg, "cli", bustest.Log(t))
			if err != nil {
				t.Fatal(err)
			}
			defer nc.Close()
			if _, err := js.AccountInfo(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestDialRefuses(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	away, srv := bustest.Server(t)
	srv.Stop()
	guarded, srv := bustest.Server(t, func(o *server.Options) { o.Authorization = "x" })
	defer srv.Stop()
	noPort := ""
	tests := map[string]struct {
		cfg  bus.Config
		want []string
	}{
		"away":           {bus.Config{URL: strings.Replace(away, "//", "//ann:s3cret@", 1)}, []string{"connect to NATS at " + away + ":"}},
		"no token":       {bus.Config{URL: guarded}, []string{"Authorization Violation"}},
		"no port":        {bus.Config{Embedded: bus.Embedded{Listen: &noPort}}, []string{"no port"}},
		"missing creds":  {bus.Config{URL: away, Creds: "/no/such.creds"}, []string{"/no/such.creds"}},
		"missing cert":   {bus.Config{URL: away, TLS: bus.TLS{CA: "/no/ca.pem"}}, []string{"/no/ca.pem"}},
		"missing nkey":   {bus.Config{NKey: "/no/such.nk"}, []string{"/no/such.nk"}},
		"not an address": {bus.Config{URL: "nats://h:x"}, []string{"not an address"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, _, err := bus.Dial(t.Context(), tt.cfg, "cli", bustest.Log(t))
			bustest.WantError(t, err, tt.want...)
		})
	}
}

func TestDialEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := bus.Dial(ctx, bus.Config{}, "cli", bustest.Log(t)); !errors.Is(err, context.Canceled) {
		t.Errorf("ended context: got %v, want %v", err, context.Canceled)
	}
	// A server that takes the connection and says nothing.
	brief, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, _, err := bus.Dial(brief, bus.Config{URL: silent(t)}, "cli", bustest.Log(t))
	bustest.WantError(t, err, "connect to NATS", "timeout")
}

func TestWithEnv(t *testing.T) {
	t.Parallel()
	everything := map[string]string{
		"NATS_URL": "nats://env", "NATS_CONTEXT": "env", "NATS_CREDS": "env.creds", "NATS_NKEY": "env.nk",
		"NATS_USER": "env", "NATS_PASSWORD": "env-pass", "NATS_TOKEN": "env-token",
		"NATS_CERT": "env.cert", "NATS_KEY": "env.key", "NATS_CA": "env.ca",
	}
	envTLS := bus.TLS{CA: "env.ca", Cert: "env.cert", Key: "env.key"}
	identity := bus.Config{Creds: "env.creds", NKey: "env.nk", User: "env", Password: "env-pass", Token: "env-token", TLS: envTLS}
	with := func(c bus.Config, url, context string) bus.Config {
		c.URL, c.Context = url, context
		return c
	}
	tests := map[string]struct {
		cfg  bus.Config
		env  map[string]string
		want bus.Config
	}{
		"nothing set":            {bus.Config{Lanes: 2}, nil, bus.Config{Lanes: 2}},
		"all from it":            {bus.Config{}, everything, with(identity, "nats://env", "env")},
		"a url of our own":       {bus.Config{URL: "nats://own"}, everything, with(identity, "nats://own", "")},
		"a context of our own":   {bus.Config{Context: "own"}, everything, with(identity, "", "own")},
		"creds of our own":       {bus.Config{Creds: "own"}, everything, bus.Config{URL: "nats://env", Context: "env", Creds: "own", TLS: envTLS}},
		"a user, password there": {bus.Config{User: "own"}, everything, bus.Config{URL: "nats://env", Context: "env", User: "own", Password: "env-pass", TLS: envTLS}},
		"tls of our own": {
			bus.Config{TLS: bus.TLS{CA: "a", Cert: "b", Key: "c"}},
			map[string]string{"NATS_CERT": "x", "NATS_KEY": "y", "NATS_CA": "z"},
			bus.Config{TLS: bus.TLS{CA: "a", Cert: "b", Key: "c"}},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := tt.cfg.WithEnv(func(name string) string { return tt.env[name] })
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
}
