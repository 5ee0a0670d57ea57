package publishing_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/publishing"
	"agenthost/internal/waittest"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// copies are what reaches a subject of core NATS, whose test answers in place
// of a stream, as it pleases.
func copies(t testing.TB, nc *nats.Conn, subject string) <-chan *nats.Msg {
	t.Helper()
	c := make(chan *nats.Msg, 100)
	sub, err := nc.ChanSubscribe(subject, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sub.Unsubscribe() })
	return c
}

func answer(t testing.TB, m *nats.Msg, data string) {
	t.Helper()
	if err := m.Respond([]byte(data)); err != nil {
		t.Fatal(err)
	}
}

const (
	lateAck  = `{"stream":"S","seq":1}`
	otherAck = `{"stream":"S","seq":2}`
	noLeader = `{"error":{"code":503,"err_code":10008,"description":"no leader"}}`
	fenced   = `{"error":{"code":400,"err_code":10071,"description":"wrong last sequence"}}`
)

func TestPublishIsSentAgainWhenNobodyAnswers(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		b := bustest.Open(t)
		sent := copies(t, b.NC, "s")
		p, _ := publisher(t, b.NC, bustest.Log(t))
		got := make(chan stored, 10)
		began := time.Now()
		p.Publish(message("s", "1"), into(got))
		<-sent
		second := waittest.For(t, "a second copy", sent)
		if took := time.Since(began); took < 5*time.Second || took > 6*time.Second {
			t.Errorf("sent again after %s, want some 5 s", took)
		}
		if string(second.Data) != "1" || second.Header.Get(nats.MsgIdHdr) != "1" {
			t.Errorf("second copy: got %+v, want that of the first", second)
		}
		answer(t, second, otherAck)
		if s, want := <-got, (stored{seq: 2, resent: true}); s != want {
			t.Errorf("got %+v, want %+v", s, want)
		}
		flush(t, p)
		time.Sleep(time.Minute)
		if len(sent)+len(got) > 0 {
			t.Errorf("once settled: sent %d times, settled %d times", len(sent), len(got))
		}
	})
}

// What a leader that is just being chosen lets drop is sent again soon: nobody waits for the
// acknowledgement as long as for that of a first copy.
func TestPublishIsSentAgainSoonAfterTrouble(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		b := bustest.Open(t)
		sent := copies(t, b.NC, "s")
		p, _ := publisher(t, b.NC, bustest.Log(t))
		got := make(chan stored, 10)
		began := time.Now()
		p.Publish(message("s", "1"), into(got))
		answer(t, <-sent, noLeader)
		<-sent // and dropped
		answer(t, waittest.For(t, "a third copy", sent), otherAck)
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("sent again after %s, want less than 2 s", took)
		}
		if s, want := <-got, (stored{seq: 2, resent: true}); s != want {
			t.Errorf("got %+v, want %+v", s, want)
		}
	})
}

// An answer that comes when the message has been sent again, or is about to
// be, counts, and the one to the other copy does not.
func TestPublishTakesALateAnswer(t *testing.T) {
	tests := map[string]struct {
		answers []string // to the first copy, when the second is there
		want    stored
	}{
		"stored":                {[]string{lateAck}, stored{seq: 1, resent: true}},
		"stored, after trouble": {[]string{noLeader, noLeader, lateAck}, stored{seq: 1, resent: true}},
		"not JSON, then stored": {[]string{"+OK", lateAck}, stored{seq: 1, resent: true}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			bustest.Bubble(t, func(t *testing.T) {
				b := bustest.Open(t)
				sent := copies(t, b.NC, "s")
				p, _ := publisher(t, b.NC, bustest.Log(t))
				got := make(chan stored, 10)
				p.Publish(message("s", "1"), into(got))
				first, second := <-sent, <-sent
				for _, data := range tt.answers {
					answer(t, first, data)
				}
				if s := <-got; s != tt.want {
					t.Errorf("got %+v, want %+v", s, tt.want)
				}
				answer(t, second, otherAck)
				flush(t, p)
				time.Sleep(time.Minute)
				if len(sent)+len(got) > 0 {
					t.Errorf("once settled: sent %d times, settled %d times", len(sent), len(got))
				}
			})
		})
	}
}

func TestPublishIsToldOfALateRefusal(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		b := bustest.Open(t)
		sent := copies(t, b.NC, "s")
		p, _ := publisher(t, b.NC, bustest.Log(t))
		got := make(chan stored, 10)
		p.Publish(message("s", "1"), into(got))
		answer(t, <-sent, noLeader)
		answer(t, <-sent, fenced)
		if s := <-got; !bus.Refused(s.err) || !s.resent {
			t.Errorf("got %+v, want it refused and sent again", s)
		}
	})
}

// The first resend is soon, and each takes twice as long as the one before; a
// second answer to the same copy puts nothing off.
func TestPublishBacksOff(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		b := bustest.Open(t)
		sent := copies(t, b.NC, "s")
		p, _ := publisher(t, b.NC, bustest.Log(t))
		p.Publish(message("s", "1"), func(uint64, bool, error) {})
		m := <-sent
		for _, millis := range []int{50, 100, 200, 400, 800, 1600, 2000, 2000} {
			want := time.Duration(millis) * time.Millisecond
			began := time.Now()
			answer(t, m, noLeader)
			time.Sleep(want / 2)
			answer(t, m, noLeader)
			m = <-sent
			if took := time.Since(began); took < want || took > want+50*time.Millisecond {
				t.Errorf("sent again after %s, want %s", took, want)
			}
		}
	})
}

// No answer comes over a connection that is gone: there is no waiting for it.
func TestPublishIsSentAgainAfterADisconnect(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		b := bustest.Open(t)
		sent := copies(t, b.NC, "s")
		p, _ := publisher(t, b.NC, bustest.Log(t))
		got := make(chan stored, 10)
		p.Publish(message("s", "1"), into(got))
		<-sent
		lost := time.Now()
		if err := b.NC.ForceReconnect(); err != nil {
			t.Fatal(err)
		}
		answer(t, waittest.For(t, "a second copy", sent), otherAck)
		if s, want := <-got, (stored{seq: 2, resent: true}); s != want {
			t.Errorf("got %+v, want %+v", s, want)
		}
		if took := time.Since(lost); took > 3*time.Second {
			t.Errorf("it took %s, want less than the time for an acknowledgement", took)
		}
	})
}

// What was published before Run, and got lost, is sent by it.
func TestPublishBeforeRun(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t)
	p, err := publishing.New(b.NC, bustest.Log(t))
	if err != nil {
		t.Fatal(err)
	}
	bustest.MakeStream(t, b.JS, jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}})
	if seq, err := p.PublishWait(t.Context(), message("s", "1")); err != nil || seq != 1 {
		t.Errorf("before Run: got %d, %v, want 1", seq, err)
	}
	got := make(chan stored, 1)
	p.Publish(message("later", "1"), into(got))
	if err := b.Healthy(t.Context()); err != nil { // a round trip: nobody has responded
		t.Fatal(err)
	}
	bustest.MakeStream(t, b.JS, jetstream.StreamConfig{Name: "LATER", Subjects: []string{"later"}})
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _ = p.Run(ctx) })
	if s, want := <-got, (stored{seq: 1, resent: true}); s != want {
		t.Errorf("got %+v, want %+v", s, want)
	}
	cancel()
	wg.Wait()
}

// A message of many that wait for a stream is neither lost nor stored twice.
func TestManyPublishesWaitForAStream(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		b := bustest.Open(t)
		p, _ := publisher(t, b.NC, bustest.Log(t))
		const many = 2000
		got := make(chan stored, 2*many)
		for i := range many {
			p.Publish(message("s", fmt.Sprint(i)), into(got))
			if i%100 == 0 {
				time.Sleep(30 * time.Millisecond)
			}
		}
		s := bustest.MakeStream(t, b.JS, jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}, Duplicates: time.Minute})
		flush(t, p)
		for range many {
			if s := <-got; s.err != nil || s.seq == 0 || s.seq > many {
				t.Fatalf("got %+v, want it stored", s)
			}
		}
		if info, err := s.Info(t.Context()); err != nil || info.State.Msgs != many || len(got) > 0 {
			t.Errorf("got %+v, %v, and %d settled twice", info.State, err, len(got))
		}
	})
}

func TestPublishFromInsideStored(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t)
	bustest.MakeStream(t, b.JS, jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}})
	p, stop := publisher(t, b.NC, bustest.Log(t))
	got := make(chan stored, 1)
	var next publishing.Stored
	left := 1000
	next = func(seq uint64, resent bool, err error) {
		if left--; left == 0 || err != nil {
			got <- stored{seq, resent, err}
			return
		}
		p.Publish(message("s", ""), next)
	}
	p.Publish(message("s", ""), next)
	if s, want := <-got, (stored{seq: 1000}); s != want {
		t.Errorf("got %+v, want %+v", s, want)
	}
	again := func(uint64, bool, error) { p.Publish(message("s", ""), into(got)) }
	large := message("s", "")
	large.Data = make([]byte, b.NC.MaxPayload()+1)
	p.Publish(large, again) // refused before it is sent
	if s, want := <-got, (stored{seq: 1001}); s != want {
		t.Errorf("after what is too large: got %+v, want %+v", s, want)
	}
	p.Publish(message("no.stream", ""), again)
	stop()
	if s := <-got; !errors.Is(s.err, publishing.ErrClosed) {
		t.Errorf("after stop: got %+v, want %v", s, publishing.ErrClosed)
	}
}

func TestPublishWhenTheConnectionIsClosed(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t)
	copies(t, b.NC, "silent")
	p, _ := publisher(t, b.NC, bustest.Log(t))
	got := make(chan stored, 2)
	p.Publish(message("silent", "1"), into(got))
	p.Publish(message("no.stream", "2"), into(got))
	b.NC.Close()
	for range 2 {
		if s := <-got; !errors.Is(s.err, nats.ErrConnectionClosed) {
			t.Errorf("got %+v, want %v", s, nats.ErrConnectionClosed)
		}
	}
	if _, err := publishing.New(b.NC, bustest.Log(t)); !errors.Is(err, nats.ErrConnectionClosed) {
		t.Errorf("NewPublisher: got %v, want %v", err, nats.ErrConnectionClosed)
	}
}

// The message stays as it was, and an answer without a request is ignored.
func TestPublishHasAnInboxOfItsOwn(t *testing.T) {
	t.Parallel()
	url, _ := bustest.Server(t)
	nc, err := nats.Connect(url, nats.CustomInboxPrefix("_INBOX.ana"))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	sent := copies(t, nc, "s")
	before := nc.NumSubscriptions()
	p, stop := publisher(t, nc, bustest.Log(t))
	got := make(chan stored, 10)
	msg := message("s", "1")
	msg.Reply = "elsewhere"
	p.Publish(msg, into(got))
	first := <-sent
	prefix := first.Reply[:strings.LastIndex(first.Reply, ".")+1]
	if !strings.HasPrefix(prefix, "_INBOX.ana.") || msg.Reply != "elsewhere" || len(msg.Header) != 1 {
		t.Errorf("got reply %s for %+v", first.Reply, msg)
	}
	for _, token := range []string{"zz", "-", "0", strings.Repeat("z", 50)} {
		if err := nc.Publish(prefix+token, []byte(lateAck)); err != nil {
			t.Fatal(err)
		}
	}
	answer(t, first, otherAck)
	if s, want := <-got, (stored{seq: 2}); s != want {
		t.Errorf("got %+v, want %+v", s, want)
	}
	stop()
	if n := nc.NumSubscriptions(); n != before || len(got) > 0 {
		t.Errorf("after stop: %d subscriptions, want %d; settled %d times more", n, before, len(got))
	}
}

// The answer to a message, given once more, is not taken for that to a later one: not even as
// that of a duplicate, as a cluster may call it that has lost its leader meanwhile.
func TestPublishKnowsAnEcho(t *testing.T) {
	echoes := map[string]string{
		"as it was":        lateAck,
		"as a duplicate":   `{"stream":"S","seq":1,"duplicate": true}`,
		"of another state": `{"stream":"S","seq":7}`,
		"as a refusal":     fenced,
	}
	for name, echo := range echoes {
		t.Run(name, func(t *testing.T) {
			bustest.Bubble(t, func(t *testing.T) {
				b := bustest.Open(t)
				sent := copies(t, b.NC, "s")
				p, _ := publisher(t, b.NC, bustest.Log(t))
				got := make(chan stored, 10)
				p.Publish(message("s", "1"), into(got))
				first := <-sent
				answer(t, first, lateAck)
				<-got
				p.Publish(message("s", "2"), into(got))
				<-sent
				answer(t, first, echo)
				select {
				case again := <-sent: // the second is not acknowledged yet
					answer(t, again, otherAck)
				case s := <-got:
					t.Fatalf("the echo settles the second: got %+v", s)
				}
				if s, want := <-got, (stored{seq: 2, resent: true}); s != want {
					t.Errorf("got %+v, want %+v", s, want)
				}
			})
		})
	}
}

// What was stored before, by another host perhaps, has a sequence that is older than the last.
func TestPublishTakesAnOlderSequenceOfADuplicate(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t)
	sent := copies(t, b.NC, "s")
	p, _ := publisher(t, b.NC, bustest.Log(t))
	got := make(chan stored, 10)
	for _, c := range []struct {
		ack  string
		want uint64
	}{{`{"stream":"S","seq":7}`, 7}, {`{"stream":"S","seq":3,"duplicate": true}`, 3}} {
		p.Publish(message("s", "1"), into(got))
		answer(t, <-sent, c.ack)
		if s := <-got; s != (stored{seq: c.want}) {
			t.Errorf("got %+v, want %d", s, c.want)
		}
	}
}
