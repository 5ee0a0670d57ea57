package web

import (
	"context"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// A stream of replies that was made again counts from 1 again: pages come again, and are not
// kept at a place of the stream before.
func TestRepliesThatAreMadeAgain(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		b := bustest.Open(t)
		create := func(name, subject string) {
			time.Sleep(time.Millisecond) // else it is as old as the one before
			if _, err := b.JS.CreateStream(t.Context(), jetstream.StreamConfig{Name: name, Subjects: []string{subject}}); err != nil {
				t.Fatal(err)
			}
		}
		say := func() {
			if _, err := b.JS.Publish(t.Context(), outward, []byte(`{"id":"r.1","agent":"ana","session":"web/dm/maria","to":"maria","kind":"reply","text":"hi"}`)); err != nil {
				t.Fatal(err)
			}
		}
		create(bus.InboundStream, "plugin.inbound.>")
		create(bus.OutboundStream, "plugin.outbound.>")
		h := newHub(b.JS, zerolog.Nop())
		h.begin()
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- h.run(ctx) }()
		<-h.ready
		page, _ := h.join("maria")
		for range 3 {
			say()
			<-page.news
		}
		if err := b.JS.DeleteStream(t.Context(), bus.OutboundStream); err != nil {
			t.Fatal(err)
		}
		create(bus.OutboundStream, "plugin.outbound.>")
		select {
		case <-page.lost:
		case <-time.After(5 * time.Minute): // on a fake clock
			t.Fatal("the page keeps its place")
		}
		page, now := h.join("maria")
		say()
		if n := <-page.news; n.seq <= now {
			t.Errorf("a line at %d for a page that has read up to %d", n.seq, now)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
