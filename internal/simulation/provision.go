package simulation

import (
	"context"
	"net"
	"testing"
	"testing/synctest"

	"agenthost/bus/streams"
	"agenthost/internal/simulation/memnats"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// provisioned are the streams and buckets of a fleet, as a host makes them.
func provisioned(t *testing.T) []memnats.StreamConfig {
	t.Helper()
	streamsOnce.Do(func() {
		synctest.Test(t, func(t *testing.T) { streamsMade = provision(t) })
	})
	return streamsMade
}

type dialer struct{ s *memnats.Server }

func (d dialer) Dial(string, string) (net.Conn, error) { return d.s.Dial("provision") }

func provision(t *testing.T) []memnats.StreamConfig {
	t.Helper()
	s := memnats.New(nil)
	done := make(chan error, 1)
	go func() {
		nc, err := nats.Connect("nats://127.0.0.1:4222", nats.SetCustomDialer(dialer{s}))
		if err != nil {
			done <- err
			return
		}
		defer nc.Close()
		js, err := jetstream.New(nc)
		if err == nil {
			err = streams.Provision(context.Background(), js, 1, 0, zerolog.Nop())
		}
		done <- err
	}()
	for {
		synctest.Wait()
		s.Collect()
		moved := false
		for _, c := range s.Clients() {
			for c.Ops() > 0 {
				s.Process(c, memnats.Whole)
				moved = true
			}
			for c.Waiting() > 0 {
				c.Deliver()
				moved = true
			}
		}
		if moved {
			continue
		}
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			return s.Configs()
		case <-s.Wake():
		}
	}
}
