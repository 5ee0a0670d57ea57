package session_test

import (
	"strings"
	"sync/atomic"
	"testing"

	"agenthost/bus"
	"agenthost/bus/bustest"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
)

// A session is opened without a look at all that others have stored meanwhile.
func TestOpenInABusyStream(t *testing.T) {
	t.Parallel()
	for name, turns := range map[string]int{"without a snapshot": 3, "with one": 40} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			openInABusyStream(t, turns)
		})
	}
}

func openInABusyStream(t *testing.T, turns int) {
	b, s := open(t)
	c := openTalk(t, s)
	for i := range turns {
		c.turn()
		if i < turns-3 {
			continue
		}
		if err := s.Publisher.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		crowd(t, b, 3000)
	}
	var scans, reads atomic.Int64
	_, err := b.NC.Subscribe("$JS.API.DIRECT.GET.>", func(m *nats.Msg) {
		reads.Add(1)
		if strings.Contains(string(m.Data), "batch") {
			scans.Add(1)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	again := openTalk(t, s)
	if diff := cmp.Diff(c.encoded(), again.encoded()); diff != "" {
		t.Errorf("the session is another (-written +opened):\n%s", diff)
	}
	bustest.Eventually(t, "the requests to be seen", func() bool { return reads.Load() > 2 })
	if scans.Load() != 0 {
		t.Error("the server was asked to look at all that is stored")
	}
}

// crowd has so many messages of others in the stream of sessions.
func crowd(t *testing.T, b *bus.Bus, messages int) {
	t.Helper()
	for range messages {
		if _, err := b.JS.PublishAsync("agent.session.bot.others", nil); err != nil {
			t.Fatal(err)
		}
	}
	<-b.JS.PublishAsyncComplete()
}
