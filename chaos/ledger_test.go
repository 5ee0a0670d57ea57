//go:build unix && long

package chaos_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/signing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// patience is how long a condition may take to come true. It bounds only
	// a test that fails.
	patience  = 3 * time.Minute
	pollEvery = 50 * time.Millisecond
)

// A ledger is the outside of a fleet: it says things to the agents, and holds
// the streams against what it said. A message counts once its stream has
// acknowledged it.
type ledger struct {
	t  testing.TB
	nc *nats.Conn
	js jetstream.JetStream

	mu   sync.Mutex
	said map[string]statement // by message id

	counted int             // answers that closed knows
	closed  map[string]bool // message ids with a final answer

	weighed int            // commits that lives knows
	lives   map[string]int // of the runs that are not over, by id

	answers  tape // AGENT_OUTBOUND
	sessions tape // AGENT_SESSIONS
	letters  tape // AGENT_DEAD
}

// A statement is a message that was accepted.
type statement struct {
	id            string
	channel, from string
	n             int // of from on channel
	text          string
	begun         time.Time // when it was first sent
	fatal         bool      // is to be given up
	refusable     bool      // may find its session full: an error ends it as well as an answer
}

// who is the session of the statement.
func (s statement) who() string { return s.channel + " " + s.from }

// openLedger connects to the server at address, which may be away.
func openLedger(t testing.TB, address string) *ledger {
	t.Helper()
	nc, err := nats.Connect("nats://"+address, nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1),
		nats.ReconnectWait(pollEvery), nats.ReconnectBufSize(-1), nats.Name("ledger"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return &ledger{
		t: t, nc: nc, js: js, said: map[string]statement{}, closed: map[string]bool{}, lives: map[string]int{},
		answers:  tape{js: js, stream: bus.OutboundStream},
		sessions: tape{js: js, stream: bus.SessionsStream},
		letters:  tape{js: js, stream: bus.DeadStream},
	}
}

// A talk is what some people say on a channel, each at their own pace.
type talk struct {
	channel string
	people  int
	each    int           // messages of a person
	every   time.Duration // the pause between them; 0: as fast as they are accepted
	from    int           // number of the first message
	spread  bool          // people begin one after the other, within the first pause
	word    string        // is in every text
}

// hold has all the talks held at the same time and returns when all is
// accepted.
func (l *ledger) hold(talks ...talk) { <-l.begin(talks...) }

// begin is hold that does not wait: the channel is closed when all is accepted.
func (l *ledger) begin(talks ...talk) <-chan struct{} {
	var wg sync.WaitGroup
	for _, t := range talks {
		for p := range t.people {
			wg.Go(func() {
				if t.spread {
					<-time.After(t.every * time.Duration(p) / time.Duration(t.people))
				}
				l.speak(t, fmt.Sprintf("p%02d", p))
			})
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		wg.Wait()
	}()
	l.t.Cleanup(func() { <-done })
	return done
}

func (l *ledger) speak(t talk, from string) {
	for n := t.from; n < t.from+t.each; n++ {
		text := fmt.Sprintf("%s %s %s %d", t.channel, from, t.word, n)
		switch {
		case n%10 == 5:
			text += " tool"
		case n%10 == 8 && t.channel == chat:
			text += " help"
		}
		if !l.say(statement{channel: t.channel, from: from, n: n, text: text}) {
			return
		}
		if t.every > 0 {
			<-time.After(t.every) // people take their time; nothing is waited for
		}
	}
}

// say publishes a statement until it is accepted.
func (l *ledger) say(s statement) bool {
	s.begun = time.Now()
	s.id = fmt.Sprintf("%s-%s-%d", s.channel, s.from, s.n)
	data, err := json.Marshal(bus.Inbound{ID: s.id, From: s.from, Text: s.text})
	if err != nil {
		l.t.Error(err)
		return false
	}
	msg := nats.NewMsg(bus.InboundPrefix + s.channel)
	msg.Data = data
	msg.Header.Set(nats.MsgIdHdr, s.id)
	for time.Since(s.begun) < patience {
		if err = l.publish(msg); err == nil {
			l.mu.Lock()
			l.said[s.id] = s
			l.mu.Unlock()
			return true
		}
		<-time.After(pollEvery) // NATS is away
	}
	l.t.Errorf("message %s was not accepted in %v: %v", s.id, patience, err)
	return false
}

func (l *ledger) publish(msg *nats.Msg) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	_, err := l.js.PublishMsg(ctx, msg, jetstream.WithRetryAttempts(0))
	return err
}

// send publishes what the operator, or the clock, sends to an agent.
func (l *ledger) send(msg *nats.Msg) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	signer, err := signing.Read(ctx, l.js)
	if err != nil {
		return err
	}
	signer.Sign(msg)
	return l.publish(msg)
}

// await waits until is holds.
func await(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !is(); <-time.After(pollEvery) {
		if time.Now().After(end) {
			t.Fatalf("waited %v for: %s", patience, what)
		}
	}
}
