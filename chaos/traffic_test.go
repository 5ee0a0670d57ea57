//go:build unix && long

package chaos_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/run"
	"agenthost/session"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A traffic keeps messages outstanding in some sessions: more is said as soon as
// something is answered.
type traffic struct {
	*ledger
	outstanding int
	queueMax    int
	people      []*person
	count       atomic.Int64 // messages that have their end
	stopping    chan struct{}
	ended       chan struct{}
}

// A person talks to an agent in a session of their own.
type person struct {
	name    string
	said    int             // messages so far
	waiting map[string]bool // ids without an end
	unsent  []statement     // that the stream has not acknowledged
}

// converse begins the traffic of a crowd.
func (g *target) converse(c crowd, queueMax int) *traffic {
	tr := &traffic{
		ledger: g.ledger, outstanding: c.outstanding, queueMax: queueMax,
		stopping: make(chan struct{}), ended: make(chan struct{}),
	}
	for p := range c.sessions {
		tr.people = append(tr.people, &person{name: fmt.Sprintf("p%02d", p), waiting: map[string]bool{}})
	}
	stop := sync.OnceFunc(func() { close(tr.stopping) })
	go tr.run()
	g.t.Cleanup(func() {
		if !isClosed(tr.stopping) {
			stop()
		}
		<-tr.ended
	})
	return tr
}

// stop has nothing more said, and waits until all that was is accepted.
func (tr *traffic) stop() {
	tr.t.Helper()
	close(tr.stopping)
	await(tr.t, "all messages to be accepted", func() bool { return isClosed(tr.ended) })
}

func (tr *traffic) run() {
	defer close(tr.ended)
	for !isClosed(tr.stopping) || tr.unsent() > 0 && !tr.t.Failed() {
		_ = tr.answers.wind() // as far as it goes
		tr.closeAnswered()
		tr.count.Store(int64(len(tr.closed)))
		accepted := 0
		for _, p := range tr.people {
			maps.DeleteFunc(p.waiting, func(id string, _ bool) bool { return tr.closed[id] })
			if !isClosed(tr.stopping) {
				p.say(tr.outstanding - len(p.waiting))
			}
			accepted += tr.send(p)
		}
		if accepted == 0 {
			<-time.After(5 * time.Millisecond) // NATS is away, or nothing was answered
		}
	}
}

// awaitEnds waits until n messages more have their end.
func (tr *traffic) awaitEnds(n int) {
	tr.t.Helper()
	ended := tr.count.Load()
	await(tr.t, "answers", func() bool { return tr.count.Load() >= ended+int64(n) })
}

func (tr *traffic) unsent() (n int) {
	for _, p := range tr.people {
		n += len(p.unsent)
	}
	return n
}

// say has p say n messages more.
func (p *person) say(n int) {
	for range n {
		s := statement{channel: chat, from: p.name, begun: time.Now()}
		s.id = fmt.Sprintf("%s-%s-%d", chat, p.name, p.said)
		s.text = fmt.Sprintf("%s %s %d", chat, p.name, p.said)
		p.said++
		p.waiting[s.id] = true
		p.unsent = append(p.unsent, s)
	}
}

// send publishes what p has to say. What is not acknowledged is sent again the
// next time. It returns how many messages were accepted.
func (tr *traffic) send(p *person) (accepted int) {
	acks := make([]jetstream.PubAckFuture, len(p.unsent))
	for i, s := range p.unsent {
		data, err := json.Marshal(bus.Inbound{ID: s.id, From: s.from, Text: s.text})
		if err != nil {
			tr.t.Error(err)
		}
		msg := nats.NewMsg(bus.InboundPrefix + s.channel)
		msg.Data = data
		msg.Header.Set(nats.MsgIdHdr, s.id)
		if acks[i], err = tr.js.PublishMsgAsync(msg, jetstream.WithRetryAttempts(0)); err != nil {
			break // NATS is away
		}
	}
	deadline := time.After(lostAfter) // an acknowledgement may be lost with its connection
	left := p.unsent[:0]
	for i, s := range p.unsent {
		if seq := acknowledged(acks[i], deadline); seq > 0 {
			tr.accept(s, seq, p)
			accepted++
			continue
		}
		left = append(left, s)
	}
	p.unsent = left
	return accepted
}

// accept notes a message that the stream has. Its place there, not the order in
// which it was sent, is what the answers have to follow.
func (tr *traffic) accept(s statement, seq uint64, p *person) {
	s.n = int(seq)
	s.refusable = tr.outstanding > tr.queueMax
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.said[s.id] = s
}

// acknowledged is the sequence of a message, 0 if it is not known.
func acknowledged(ack jetstream.PubAckFuture, deadline <-chan time.Time) uint64 {
	if ack == nil {
		return 0
	}
	select {
	case a := <-ack.Ok():
		return a.Sequence
	case <-ack.Err():
	case <-deadline:
	}
	return 0
}

// audit waits until everything said has its end, and then reports what the
// streams hold that breaks a promise. The counts are told in any case.
func (tr *traffic) audit() {
	tr.t.Helper()
	answered := eventually(tr.allAnswered)
	acked := answered && eventually(tr.allAcknowledged)
	wound := eventually(func() bool {
		return tr.answers.wind() == nil && tr.sessions.wind() == nil && tr.letters.wind() == nil
	})
	count := tr.tally()
	if !answered || !acked || !wound {
		tr.t.Errorf("within %v: all answered %v, all acknowledged %v, all streams read %v", patience, answered, acked, wound)
	}
	if count.lost+count.twice+count.refused+count.disordered > 0 {
		tr.t.Error(count)
	} else {
		tr.t.Log(count)
	}
	faults := findFaults(tr.said, tr.answers.msgs, tr.sessions.msgs, tr.letters.msgs)
	for _, fault := range faults[:min(len(faults), 5)] {
		tr.t.Error(fault)
	}
	tr.checkWeight()
}

// checkWeight sees that the test has tested what it is about.
func (tr *traffic) checkWeight() {
	tr.t.Helper()
	snapshots, spilled := 0, 0
	for _, msg := range tr.sessions.msgs {
		if isSnapshot(msg) {
			snapshots++
		} else if isSpill(tr.t, msg) {
			spilled++
		}
	}
	tr.t.Logf("%d commits, %d snapshots, %d commits of waiting inputs", len(tr.sessions.msgs)-snapshots, snapshots, spilled)
	if snapshots == 0 || spilled == 0 {
		tr.t.Error("the sessions were too quiet: no snapshot was written, or no mailbox overflowed")
	}
}

// isSpill reports whether a commit only accepts inputs that wait.
func isSpill(t testing.TB, msg *jetstream.RawStreamMsg) bool {
	t.Helper()
	c := session.Commit{}
	if err := json.Unmarshal(msg.Data, &c); err != nil {
		t.Fatal(err)
	}
	return len(c.Events) > 0 && c.Events[0].Type == run.InputAdded
}

// eventually reports whether is holds within the patience of the tests.
func eventually(is func() bool) bool {
	for end := time.Now().Add(patience); !is(); <-time.After(pollEvery) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// counts are what became of all messages.
type counts struct {
	sent, answered, lost, twice, disordered int
	refused, turnedAway                     int // with room, and without
}

func (c counts) String() string {
	return fmt.Sprintf("%d sent, %d answered, %d lost, %d ended twice, %d refused that had room, %d refused that had none, %d out of order",
		c.sent, c.answered, c.lost, c.twice, c.refused, c.turnedAway, c.disordered)
}

// tally counts the ends of all messages on the tape.
func (tr *traffic) tally() counts {
	c := counts{sent: len(tr.said)}
	ends := map[string]int{}
	last := map[string]int{}
	for _, msg := range tr.answers.msgs {
		out := bus.Outbound{}
		if json.Unmarshal(msg.Data, &out) != nil || !out.Final {
			continue
		}
		s := tr.said[out.InReplyTo]
		ends[out.InReplyTo]++
		switch {
		case out.Kind == bus.KindError && s.refusable:
			c.turnedAway++
			continue
		case out.Kind == bus.KindError:
			c.refused++
			continue
		case s.n < last[s.from]:
			c.disordered++
		}
		c.answered++
		last[s.from] = max(last[s.from], s.n)
	}
	for _, n := range slices.Collect(maps.Values(ends)) {
		if n > 1 {
			c.twice++
		}
	}
	c.lost = len(tr.said) - len(ends)
	return c
}
