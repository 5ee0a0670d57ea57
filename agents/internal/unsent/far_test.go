package unsent_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"agenthost/agents/internal/inflight"
	"agenthost/agents/internal/parts"
	"agenthost/agents/internal/unsent"
	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/filestore"
	"agenthost/bus/records"
	"agenthost/session"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// far is a reader whose server answers each request so much later.
func far(t *testing.T, b *bus.Bus, by time.Duration) *records.Reader {
	t.Helper()
	const prefix = "FAR"
	_, err := b.NC.Subscribe(prefix+".>", func(m *nats.Msg) {
		req := &nats.Msg{Subject: "$JS.API" + strings.TrimPrefix(m.Subject, prefix), Data: m.Data, Reply: m.Reply}
		time.AfterFunc(by, func() { _ = b.NC.PublishMsg(req) })
	})
	if err != nil {
		t.Fatal(err)
	}
	js, err := jetstream.NewWithAPIPrefix(b.NC, prefix)
	if err != nil {
		t.Fatal(err)
	}
	return records.NewReader(js)
}

// farFinder is a Finder of a session of a host that is far from its server.
func farFinder(t *testing.T, b *bus.Bus) (unsent.Finder, *session.Log) {
	t.Helper()
	publisher := publisher(t, b.NC)
	store := func(reader *records.Reader) *session.Store {
		return &session.Store{Publisher: publisher, Reader: reader, Files: filestore.New(b.JS), Limit: 1 << 19, Log: zerolog.Nop()}
	}
	log, err := store(records.NewReader(b.JS)).Open(t.Context(), "ana", "web/dm/ann")
	if err != nil {
		t.Fatal(err)
	}
	reader := far(t, b, 400*time.Millisecond)
	work, cancel := context.WithTimeout(t.Context(), time.Hour)
	t.Cleanup(cancel)
	a := &inflight.Agent{ID: "ana", Parts: parts.New(parts.Options{Reader: reader, Store: store(reader)}), Work: work}
	return unsent.Finder{Session: inflight.Session{Agent: a, Key: "web/dm/ann"}}, log
}

// A session with many replies is caught up with however far the server is: reading them takes
// longer than any one answer may.
func TestBacklogOfManyFarFromTheServer(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		b := bustest.Open(t)
		bustest.Provision(t, b.JS)
		finder, log := farFinder(t, b)
		const many = 200
		first := uint64(0)
		for n := range many {
			commit(t, log, fmt.Sprint(n+1), []string{"plugin.outbound.web"})
			if first == 0 {
				first = log.Replied()
			}
		}
		got, err := finder.Backlog(log.RepliedSince(first), log.RepliedBefore(first))
		if err != nil || len(got.Batches) != many {
			t.Errorf("%d commits, %v; want %d", len(got.Batches), err, many)
		}
	})
}

// A reply that its stream does not have, or no more, is found missing behind however many that came since.
func TestReplyMissingInALongStream(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		b := bustest.Open(t)
		bustest.Provision(t, b.JS)
		finder, log := farFinder(t, b)
		commit(t, log, "1", []string{"plugin.outbound.web"})
		for range 40_000 {
			if err := b.NC.Publish("plugin.outbound.web", []byte("{}")); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.NC.Flush(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(bus.DedupeWindow) // the stream would not drop it any more
		got, err := finder.OfCommits(log.RepliedWith(log.Replied()))
		if err != nil || len(got) != 1 || len(got[0].Replies) != 1 {
			t.Errorf("got %v, %v; want the one reply", got, err)
		}
	})
}
