package liveask

import (
	"context"
	"errors"
	"hash/crc32"
	"slices"
	"sync"
	"time"

	"agenthost/agents"
	"agenthost/agents/internal/ask"
	"agenthost/agents/internal/clock"
	"agenthost/agents/internal/inflight"
	"agenthost/agents/internal/outbox"
	"agenthost/run"
	"agenthost/tools"
)

// Questions are what tools at work in a session ask its person.
type Questions struct {
	inflight.Session

	putting sync.Mutex // for one at a time, so that they are numbered in their order

	mu   sync.Mutex // guards what follows, and what changes of a question
	open []*question
}

// A question is what one call of a tool asks.
type question struct {
	id      string
	call    run.Call // in the shape of a question, to read answers by
	answer  chan string
	dismiss context.CancelFunc // no answer will come
	noticed bool               // a person was told what their message waits for
	given   bool               // it has an answer
}

// An Asker is the run whose tool asks.
type Asker struct {
	*inflight.Run
	Word func(waits []*run.Wait) // puts into words what is asked, with its number
	// While calls put with the sequence of the newest message of the chat, unless the run can ask
	// no more. put waits for nothing.
	While func(put func(newest uint64)) bool
	Send  func(b *outbox.Batch)
}

// ErrNoPerson means that the question of a tool reaches no person.
var ErrNoPerson = errors.New("no person can be asked here")

// Ask puts a question to the person of the session, and waits for the answer.
func (q *Questions) Ask(ctx context.Context, by Asker, call tools.Call, prompt string, options []string) (string, error) {
	dismissed, dismiss := context.WithCancel(ctx)
	defer dismiss()
	asked := &question{dismiss: dismiss, answer: make(chan string, 1)}
	defer q.forget(asked)
	if err := q.put(asked, by, call, prompt, options); err != nil {
		return "", err
	}
	defer clock.Pause(ctx)()
	timer := time.NewTimer(by.Profile.Config.Limits.ApprovalTimeout)
	defer timer.Stop()
	select {
	case answer := <-asked.answer:
		return answer, nil
	case <-timer.C:
		return "", errors.New("no answer came in time")
	case <-ctx.Done():
		return "", ctx.Err()
	case <-dismissed.Done():
		return "", ErrNoPerson
	}
}

// firstReply is where the numbers of such questions begin, out of the way of the run's
// replies.
const firstReply = 1000

// put puts the question where the person is, and where others look for it. The log has
// none of it, and the tool may run again on another host and ask again: the number of the reply
// is made of the id of the question, which no other has.
func (q *Questions) put(asked *question, by Asker, call tools.Call, prompt string, options []string) error {
	q.putting.Lock()
	defer q.putting.Unlock()
	person := by.Person()
	if person == nil {
		return ErrNoPerson
	}
	wait := &run.Wait{For: run.ForQuestion, Prompt: prompt, Options: options, ID: ask.NewToken()}
	by.Word([]*run.Wait{wait})
	asked.call = run.Call{
		Asked: run.ForQuestion, Prompt: prompt, Options: options, Wait: wait.ID, Number: wait.Number, AskedAt: time.Now().UTC(),
	}
	id := q.WaitID(by.ID, asked.call)
	if !by.While(func(newest uint64) { q.add(asked, id, newest) }) {
		return ErrNoPerson
	}
	n := firstReply + int(crc32.ChecksumIEEE([]byte(wait.ID)))
	reply := &run.Reply{N: n, Kind: run.KindQuestion, Text: wait.Said, Call: call.ID, Wait: wait.ID, Options: options}
	if err := by.Address(reply); err != nil {
		return err
	}
	by.Send(&outbox.Batch{Replies: []*run.Reply{reply}, Trace: by.Trace, End: func(bool) {}})
	return q.Agent.Parts.Asks.PutSoon(agents.Waiting{
		ID: id, Agent: q.Agent.ID, Session: string(q.Key), Run: call.Run, Call: call.ID, Kind: run.ForQuestion, Tool: call.Name,
		Prompt: prompt, Options: options, Number: wait.Number, AskedAt: asked.call.AskedAt, Origin: person,
		Model: by.LastModel(), Host: q.Agent.Parts.Host, Approvers: q.Agent.Now().Config.Approvers,
	})
}

// add has the answers to a question taken for it: newest came before it.
func (q *Questions) add(asked *question, id string, newest uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	asked.id, asked.call.ID, asked.call.Newest = id, id, newest
	q.open = append(q.open, asked)
}

// forget ends a question, if it was put.
func (q *Questions) forget(asked *question) {
	q.mu.Lock()
	id := asked.id
	q.open = slices.DeleteFunc(q.open, func(other *question) bool { return other == asked })
	q.mu.Unlock()
	if id != "" {
		q.Agent.Parts.Asks.DeleteEntry(id)
	}
}

// Any reports whether one waits for its answer.
func (q *Questions) Any() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.open) > 0
}

// Highest is the highest number of those that wait, 0 where none does.
func (q *Questions) Highest() (n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, asked := range q.open {
		n = max(n, ask.Number(asked.call))
	}
	return n
}

// Dismiss ends those that wait: their answers would come to another host.
func (q *Questions) Dismiss() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, asked := range q.open {
		asked.dismiss()
	}
}

// Abandon deletes what tools of the session have asked on a host that has died.
func (q *Questions) Abandon() {
	q.Agent.Parts.Asks.Abandon(q.Agent.Work, q.Agent.ID, q.Key, func(id string) bool {
		q.mu.Lock()
		defer q.mu.Unlock()
		return slices.ContainsFunc(q.open, func(asked *question) bool { return asked.id == id })
	})
}
