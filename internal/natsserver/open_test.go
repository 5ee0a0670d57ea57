package natsserver_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/internal/lockfile"
	"agenthost/internal/natsserver"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"
)

func TestOpenEmbedded(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	cfg := bustest.Config(t)
	cfg.Embedded.Sync = "" // always
	cfg.Domain = "edge"
	b, err := natsserver.Open(t.Context(), bus.Options{Name: "one", Log: bustest.Log(t), Config: cfg})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Ready(t.Context()); err != nil {
		t.Errorf("ready: %v", err)
	}
	if err := b.Healthy(t.Context()); err != nil {
		t.Errorf("healthy: %v", err)
	}
	if b.URL() != "" {
		t.Errorf("URL without a port: got %q", b.URL())
	}
	if name := b.NC.ConnectedServerName(); name != "one" {
		t.Errorf("server name: got %q, want one", name)
	}
	if name := b.NC.Opts.Name; name != "agenthost one" {
		t.Errorf("connection name: got %q", name)
	}
	info, err := b.JS.AccountInfo(t.Context())
	if err != nil || info.Domain != "edge" {
		t.Errorf("domain: got %+v, %v, want edge", info, err)
	}
	if _, err := b.JS.CreateStream(t.Context(), jetstream.StreamConfig{Name: "S"}); err != nil {
		t.Fatal(err)
	}
	b.Close()
	b.Close()
	bustest.WantError(t, b.Ready(t.Context()), "connection closed")
	bustest.WantError(t, b.Healthy(t.Context()), "connection closed")

	again, err := bustest.TryOpen(t, cfg)
	if err != nil {
		t.Fatalf("open a store again: %v", err)
	}
	defer again.Close()
	if _, err := again.JS.Stream(t.Context(), "S"); err != nil {
		t.Errorf("stream after closing and opening: %v", err)
	}
}

func TestOpenListens(t *testing.T) {
	t.Parallel()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free.Close()
	for name, listen := range map[string]string{"any port": "127.0.0.1:0", "a port": free.Addr().String()} {
		t.Run(name, func(t *testing.T) {
			cfg := bustest.Config(t)
			cfg.Embedded.Listen = &listen
			cfg.Embedded.Sync = "always"
			b, err := bustest.TryOpen(t, cfg)
			if err != nil {
				t.Fatal(err)
			}
			nc, _, err := bus.Dial(t.Context(), bus.Config{URL: b.URL()}, "cli", zerolog.Nop())
			if err != nil {
				t.Fatalf("dial %q: %v", b.URL(), err)
			}
			nc.Close()
		})
	}
}

func TestOpenRefuses(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := strconv.Itoa(taken.Addr().(*net.TCPAddr).Port)
	file := bustest.WriteFile(t, "file", "")
	storeWithFile := t.TempDir()
	if err := os.WriteFile(filepath.Join(storeWithFile, "jetstream"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	lockIsFolder := t.TempDir()
	if err := os.Mkdir(filepath.Join(lockIsFolder, "host.lock"), 0o700); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		embedded bus.Embedded
		listen   string
		want     []string
	}{
		"port taken":        {bus.Embedded{}, "127.0.0.1:" + port, []string{"port " + port + " is taken", "nats.embedded.listen", "nats.url"}},
		"address not ours":  {bus.Embedded{}, "192.0.2.1:4222", []string{"nats.embedded.listen", "192.0.2.1"}},
		"listen no address": {bus.Embedded{}, "4222", []string{`nats.embedded.listen "4222"`, "host:port"}},
		"listen port word":  {bus.Embedded{}, "localhost:nats", []string{`"localhost:nats"`, "number"}},
		"sync":              {bus.Embedded{Sync: "often"}, "", []string{`nats.embedded.sync "often"`, "2m"}},
		"sync negative":     {bus.Embedded{Sync: "-1s"}, "", []string{`"-1s"`}},
		"store is a file":   {bus.Embedded{Store: file}, "", []string{file, "not a directory"}},
		"store broken":      {bus.Embedded{Store: storeWithFile}, "", []string{"start the embedded server", storeWithFile, "nats.embedded.store"}},
		"lock unwritable":   {bus.Embedded{Store: lockIsFolder}, "", []string{"host.lock", "is a directory"}},
		"no server file":    {bus.Embedded{Config: "/no/such.conf"}, "", []string{`nats.embedded.config "/no/such.conf"`, "no such file"}},
		"bad server file":   {bus.Embedded{Config: bustest.WriteFile(t, "bad.conf", "port: nine")}, "", []string{"nats.embedded.config", "bad.conf:1"}},
		"impossible server": {bus.Embedded{Config: bustest.WriteFile(t, "max.conf", "max_payload: 200MB")}, "", []string{"configure the embedded server"}},
		"user is needed": {
			bus.Embedded{Config: bustest.WriteFile(t, "auth.conf", "authorization {user: ann, password: secret}")},
			"",
			[]string{"auth.conf", "asks for credentials", "nats.user"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
			if tt.embedded.Store == "" {
				tt.embedded.Store = t.TempDir()
			}
			tt.embedded.Listen = &tt.listen
			_, err := bustest.TryOpen(t, bus.Config{Embedded: tt.embedded})
			bustest.WantError(t, err, tt.want...)
		})
	}
}

func TestOpenRefusesWrongPassword(t *testing.T) {
	t.Parallel()
	cfg := bustest.Config(t)
	cfg.User, cfg.Password = "ann", "wrong"
	// The deadline is how long a refusal takes inside a process.
	cfg.Embedded.Config = bustest.WriteFile(t, "auth.conf", "write_deadline: 50ms\nauthorization {user: ann, password: secret}")
	_, err := bustest.TryOpen(t, cfg)
	bustest.WantError(t, err, "connect to", "auth.conf", "may not know these credentials")
}

func TestOpenStopsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := natsserver.Open(ctx, bus.Options{Log: bustest.Log(t), Config: bustest.Config(t)})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

func TestOpenWithServerFile(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		file    string
		cfg     bus.Config
		payload int64
		listens bool
	}{
		"user": {
			"max_payload: 2MB\nauthorization {user: ann, password: secret}",
			bus.Config{User: "ann", Password: "secret"},
			2 << 20, false,
		},
		"token": {"authorization {token: s3cret}", bus.Config{Token: "s3cret"}, 1 << 20, false},
		"its own port, store and sync": {
			"listen: 127.0.0.1:-1\njetstream {store_dir: " + t.TempDir() + ", sync_interval: 30s}", bus.Config{}, 1 << 20, true,
		},
		"only a warning": {"", bus.Config{}, 1 << 20, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if !tt.listens {
				tt.cfg.Embedded = bustest.Config(t).Embedded
			}
			tt.cfg.Embedded.Config = bustest.WriteFile(t, "nats.conf", tt.file)
			b, err := bustest.TryOpen(t, tt.cfg)
			if err != nil {
				t.Fatal(err)
			}
			if err := b.Ready(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := b.NC.MaxPayload(); got != tt.payload {
				t.Errorf("max payload: got %d, want %d", got, tt.payload)
			}
			if listens := b.URL() != ""; listens != tt.listens {
				t.Errorf("URL: got %q", b.URL())
			}
		})
	}
}

func TestOpenRefusesAStoreInUse(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) { // who opens it waits for its lock for a while
		cfg := bustest.Config(t)
		first := bustest.OpenConfig(t, cfg)
		_, err := bustest.TryOpen(t, cfg)
		bustest.WantError(t, err, cfg.Embedded.Store, "in use by process "+strconv.Itoa(os.Getpid()), "nats.embedded.store", "nats.url")
		if !errors.Is(err, lockfile.ErrLocked) {
			t.Errorf("got %v, want it to wrap %v", err, lockfile.ErrLocked)
		}
		if err := first.Healthy(t.Context()); err != nil {
			t.Errorf("the first bus, after a second was refused: %v", err)
		}
		first.Close()
		if _, err := bustest.TryOpen(t, cfg); err != nil {
			t.Errorf("open after the first closed: %v", err)
		}
	})
}
