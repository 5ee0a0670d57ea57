package session_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/records"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A session is opened without a look at all that others have stored meanwhile. On a clock of its own
// the server is near, however busy the machine is.
func TestOpenInABusyStream(t *testing.T) {
	for name, turns := range map[string]int{"without a snapshot": 3, "with one": 40} {
		t.Run(name, func(t *testing.T) {
			bustest.Bubble(t, func(t *testing.T) {
				if scans, reads := openAmong(t, turns, 0, 3000); scans != 0 {
					t.Errorf("of %d requests %d have the server look at all that is stored", reads, scans)
				}
			})
		})
	}
}

// One that stands together is read in one request, not commit by commit.
func TestOpenInAQuietStream(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]int{"from the beginning": 0, "behind others": 10_000} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if scans, reads := openAmong(t, 20, before, 0); scans != 1 || reads > 4 {
				t.Errorf("%d requests, of them %d for all that comes, want one behind the newest commit, the snapshot and the first", reads, scans)
			}
		})
	}
}

// A host that is far from its server has it look at what is stored: each read takes longer.
func TestOpenFarFromTheServer(t *testing.T) {
	t.Parallel()
	b, s := open(t)
	c := openTalk(t, s)
	for range 3 {
		c.turn()
		if err := s.Publisher.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		crowd(t, b, 3000)
	}
	const prefix = "FAR"
	var reads atomic.Int64
	_, err := b.NC.Subscribe(prefix+".>", func(m *nats.Msg) {
		if strings.HasSuffix(m.Subject, "DIRECT.GET.AGENT_SESSIONS") {
			reads.Add(1)
		}
		req := &nats.Msg{Subject: "$JS.API" + strings.TrimPrefix(m.Subject, prefix), Data: m.Data, Reply: m.Reply}
		time.AfterFunc(5*time.Millisecond, func() { _ = b.NC.PublishMsg(req) })
	})
	if err != nil {
		t.Fatal(err)
	}
	js, err := jetstream.NewWithAPIPrefix(b.NC, prefix)
	if err != nil {
		t.Fatal(err)
	}
	s.Reader = records.NewReader(js)
	if got := openTalk(t, s).encoded(); got != c.encoded() {
		t.Errorf("got %s, want %s", got, c.encoded())
	}
	if n := reads.Load(); n != 1 {
		t.Errorf("%d requests for what was stored, want one", n)
	}
}

// openAmong opens a session of so many turns. Others have stored messages before it, and behind
// each of its last three.
func openAmong(t *testing.T, turns, before, others int) (scans, reads int64) {
	t.Helper()
	b, s := open(t)
	crowd(t, b, before)
	c := openTalk(t, s)
	for i := range turns {
		c.turn()
		if i < turns-3 {
			continue
		}
		if err := s.Publisher.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		crowd(t, b, others)
	}
	var scanned, read atomic.Int64
	_, err := b.NC.Subscribe("$JS.API.DIRECT.GET.>", func(m *nats.Msg) {
		read.Add(1)
		if strings.Contains(string(m.Data), "batch") {
			scanned.Add(1)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	again := openTalk(t, s)
	if diff := cmp.Diff(c.encoded(), again.encoded()); diff != "" {
		t.Errorf("the session is another (-written +opened):\n%s", diff)
	}
	if err := b.NC.Flush(); err != nil {
		t.Fatal(err)
	}
	bustest.Eventually(t, "the requests to be seen", func() bool { return read.Load() > 1 })
	return scanned.Load(), read.Load()
}

// crowd has so many messages of others in the stream of sessions.
func crowd(t *testing.T, b *bus.Bus, messages int) {
	t.Helper()
	for range messages {
		if _, err := b.JS.PublishAsync("agent.session.bot.others", nil, jetstream.WithStallWait(time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	<-b.JS.PublishAsyncComplete()
}
