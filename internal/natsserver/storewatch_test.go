//go:build unix && long

package natsserver_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/internal/natsserver"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"
)

// childVar tells the test binary that it may bound its own files.
const childVar = "AGENTHOST_TEST_FULL_STORE"

// A store that could not be written takes messages again once it can be,
// without a restart of the process: nothing that was acknowledged is lost, and
// nothing is stored twice.
func TestStoreIsOpenedAgain(t *testing.T) {
	if os.Getenv(childVar) == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestStoreIsOpenedAgain$", "-test.v", "-test.timeout=2m")
		cmd.Env = append(os.Environ(), childVar+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	cfg := bustest.Config(t)
	port := "127.0.0.1:0"
	cfg.Embedded.Sync, cfg.Embedded.Listen = "always", &port
	b, err := natsserver.Open(t.Context(), bus.Options{Name: "test", Log: bustest.Log(t), Config: cfg})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	defer watchStore(t, b)()
	url := b.URL()
	if _, err := b.JS.CreateStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}}); err != nil {
		t.Fatal(err)
	}
	if err := publishOnce(t, b, "before"); err != nil {
		t.Fatal(err)
	}

	allow := boundFiles(t)
	if err := publishOnce(t, b, "meanwhile"); err == nil {
		t.Error("a message was acknowledged that cannot be stored")
	}
	bustest.Eventually(t, "the fault says what to do", func() bool {
		err := b.StoreFault()
		return err != nil && strings.Contains(err.Error(), "file too large; free space there")
	})
	allow()

	bustest.Eventually(t, "the message is stored", func() bool { return publishOnce(t, b, "meanwhile") == nil })
	bustest.Eventually(t, "the fault is over", func() bool { return b.StoreFault() == nil })
	if b.URL() != url {
		t.Errorf("URL: got %s, want that of before, %s", b.URL(), url)
	}
	if got := texts(t, b, "S"); strings.Join(got, " ") != "before meanwhile" {
		t.Errorf("stored: got %q, want each message once", got)
	}
}

// watchStore runs WatchStore until the returned function is called.
func watchStore(t *testing.T, b *bus.Bus) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.WatchStore(ctx)
	}()
	return func() {
		cancel()
		<-done
	}
}

// publishOnce publishes a message under an id that is its text.
func publishOnce(t *testing.T, b *bus.Bus, text string) error {
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := b.JS.PublishMsg(ctx, &nats.Msg{Subject: "s", Data: []byte(text), Header: nats.Header{jetstream.MsgIDHeader: {text}}})
	return err
}

// texts are the messages of a stream.
func texts(t *testing.T, b *bus.Bus, stream string) (list []string) {
	t.Helper()
	s, err := b.JS.Stream(t.Context(), stream)
	if err != nil {
		t.Fatal(err)
	}
	state := s.CachedInfo().State
	for seq := state.FirstSeq; seq <= state.LastSeq; seq++ {
		m, err := s.GetMsg(t.Context(), seq)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, string(m.Data))
	}
	return list
}

// boundFiles lets this process write to no file any more, until the returned
// function is called: what is full then is every disk.
func boundFiles(t *testing.T) (allow func()) {
	t.Helper()
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	set := func(r syscall.Rlimit) {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &r); err != nil {
			t.Fatal(err)
		}
	}
	none := before
	none.Cur = 0
	set(none)
	return func() { set(before) }
}
