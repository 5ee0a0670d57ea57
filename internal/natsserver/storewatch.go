package natsserver

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

const (
	storeEvery  = 2 * time.Second
	reopenFirst = 2 * storeEvery // between two servers on one store
	reopenMost  = time.Minute
	probeSize   = 4 << 20
)

// A storeWatch replaces the embedded server when its store has failed and can
// be written again: a stream that could not write once, such as to a full disk,
// takes nothing more until its server has read it again.
type storeWatch struct {
	*Server
	failed bool          // what the log said last
	next   time.Time     // when the server may be replaced again
	pause  time.Duration // between this replacement and the one before
}

// WatchStore keeps the server able to store, until ctx ends.
func (s *Server) WatchStore(ctx context.Context) {
	w := &storeWatch{Server: s}
	tick := time.NewTicker(storeEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			w.look(ctx)
		}
	}
}

// StoreFault is why the server stores nothing, or not everything, and what
// helps; nil when it does, or when no WatchStore runs.
func (s *Server) StoreFault() error {
	if err := s.fault.Load(); err != nil {
		return *err
	}
	return nil
}

func (w *storeWatch) look(ctx context.Context) {
	ns := w.current.Load()
	cause := storeFault(ns, w.opts)
	if cause == nil {
		w.recovered()
		return
	}
	if err := w.room(ns); err != nil {
		w.fail(err)
		return
	}
	w.fail(fmt.Errorf("store %q has failed and is opened again: %w", w.opts.StoreDir, cause))
	if time.Now().Before(w.next) {
		return
	}
	w.pause = min(max(2*w.pause, reopenFirst), reopenMost)
	w.next = time.Now().Add(w.pause)
	w.log.Warn().Str("store", w.opts.StoreDir).AnErr("reason", cause).Msg("embedded server: store can be written again; restarting")
	if err := w.Reopen(ctx); err != nil {
		w.log.Error().Err(err).Msg("embedded server: restart failed; retrying")
	}
}

func (w *storeWatch) fail(err error) {
	w.fault.Store(&err)
	if !w.failed {
		w.failed = true
		w.log.Error().Err(err).Msg("embedded server: its store takes nothing more")
	}
}

func (w *storeWatch) recovered() {
	w.fault.Store(nil)
	if w.failed {
		w.failed = false
		w.log.Info().Str("store", w.opts.StoreDir).Msg("embedded server: its store takes messages again")
	}
	if time.Now().After(w.next) {
		w.pause = 0
	}
}

// room returns nil when a server that reads the store again could write to it.
func (w *storeWatch) room(ns *server.Server) error {
	dir := w.opts.StoreDir
	err := probe(dir)
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
		return fmt.Errorf("store %q cannot be written: %w; allow this process more files: ulimit -n, or LimitNOFILE in its systemd unit. The host goes on by itself once some are closed", dir, err)
	}
	if err != nil {
		return fmt.Errorf("store %q cannot be written: %w; free space there, or make it a folder that this user can write. The host goes on by itself then", dir, err)
	}
	used, limit := storeLimit(ns, w.opts)
	if used <= limit {
		return nil
	}
	// The server keeps a quarter of what it may have free.
	if left, known := DiskLeft(dir); !known || (int64(left)+used)/4*3 < used+probeSize {
		return fmt.Errorf("store %q holds %d MB and may hold %d MB, three quarters of what its disk has for it; free space there. The host goes on by itself then",
			dir, used>>20, limit>>20)
	}
	return nil
}

// storeFault is why the server does not store what it is sent.
func storeFault(ns *server.Server, o *server.Options) error {
	if !ns.JetStreamEnabled() {
		return errors.New("JetStream is disabled")
	}
	for _, e := range ns.Healthz(&server.HealthzOptions{Details: true}).Errors {
		if strings.Contains(e.Error, "write error") {
			return errors.New(e.Error)
		}
	}
	if used, limit := storeLimit(ns, o); used > limit {
		return fmt.Errorf("it holds %d MB and may hold %d MB", used>>20, limit>>20)
	}
	return nil
}

// storeLimit is how much the server stores and how much it may. It takes the
// limit from the disk, once, when it starts, unless its own file has one: that
// is the operator's choice, and never exceeded here.
func storeLimit(ns *server.Server, o *server.Options) (used, limit int64) {
	cfg := ns.JetStreamConfig()
	info, err := ns.Jsz(nil)
	if o.JetStreamMaxStore > 0 || cfg == nil || err != nil {
		return 0, 0
	}
	return int64(info.Store), cfg.MaxStore
}

// probe writes a file to dir and removes it. The bytes are random, as there are
// disks that make room of others.
func probe(dir string) error {
	data := make([]byte, probeSize)
	_, _ = rand.Read(data) // never fails
	name := filepath.Join(dir, "host.probe")
	f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer os.Remove(name)
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}

// OutOfSpace reports whether err is that of a disk, or of a quota, that is full.
func OutOfSpace(err error) bool {
	if err == nil {
		return false
	}
	// The server passes its errors on in words.
	return errors.Is(err, syscall.ENOSPC) || strings.Contains(err.Error(), syscall.ENOSPC.Error())
}
