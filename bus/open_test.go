package bus_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"
)

func TestCloseSendsWhatWasPublished(t *testing.T) {
	t.Parallel()
	url, _ := bustest.Server(t)
	receiver, sender := bustest.OpenConfig(t, bus.Config{URL: url}), bustest.OpenConfig(t, bus.Config{URL: url})
	got := make(chan *nats.Msg, 100)
	if _, err := receiver.NC.ChanSubscribe("s", got); err != nil {
		t.Fatal(err)
	}
	if err := receiver.Ready(t.Context()); err != nil { // a round trip: the subscription is there
		t.Fatal(err)
	}
	for range 100 {
		if err := sender.NC.Publish("s", nil); err != nil {
			t.Fatal(err)
		}
	}
	sender.Close()
	for range 100 {
		<-got
	}
}

// What hangs in the connection's own callbacks does not hang the end of a host.
func TestCloseGivesUpOnAStuckConnection(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		b, err := bustest.TryOpen(t, bustest.Config(t))
		if err != nil {
			t.Fatal(err)
		}
		stuck := make(chan struct{})
		b.NC.SetErrorHandler(func(*nats.Conn, *nats.Subscription, error) { <-stuck })
		sub, err := b.NC.SubscribeSync("busy")
		if err != nil {
			t.Fatal(err)
		}
		if err := sub.SetPendingLimits(1, -1); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if err := b.NC.Publish("busy", nil); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		began := time.Now()
		b.Close()
		if took := time.Since(began); took < 10*time.Second || took > time.Minute {
			t.Errorf("close took %s on the fake clock, want a little over 10 s", took)
		}
		close(stuck)
	})
}

func TestOpenStartsBeforeNATS(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	url, srv := bustest.Server(t)
	srv.Stop()
	defer srv.Stop()
	var log bustest.LogBuffer
	cfg := bus.Config{URL: strings.Replace(url, "//", "//ann:s3cret@", 1)}
	b, err := bus.Open(bus.Options{Name: "one", Log: zerolog.New(&log), Config: cfg})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	bustest.WantError(t, b.Healthy(t.Context()), "connect to NATS at "+url)

	brief, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	err = b.Ready(brief)
	bustest.WantError(t, err, "wait for NATS at "+url)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want it to wrap %v", err, context.DeadlineExceeded)
	}
	srv.Start()
	if err := b.Ready(t.Context()); err != nil {
		t.Fatalf("ready after NATS is up: %v", err)
	}

	lost := b.NC.StatusChanged(nats.RECONNECTING)
	srv.Stop()
	<-lost
	bustest.WantError(t, b.Healthy(t.Context()), "connect to NATS at "+url)
	srv.Start()
	if err := b.Ready(t.Context()); err != nil {
		t.Fatalf("ready after a restart: %v", err)
	}
	b.Close()
	for _, line := range []string{"waiting for NATS", "NATS connected", "NATS connection lost", "NATS connected again"} {
		if !strings.Contains(log.String(), line) {
			t.Errorf("log: got %s, want a line %q", log.String(), line)
		}
	}
	if strings.Contains(log.String(), "s3cret") {
		t.Errorf("the log shows the password: %s", log.String())
	}
}

func TestOpenNeedsAServer(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	_, err := bus.Open(bus.Options{Log: bustest.Log(t), Config: bustest.Config(t)})
	bustest.WantError(t, err, "no server runs in this process", "names none")
}
