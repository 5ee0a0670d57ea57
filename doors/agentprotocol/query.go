package agentprotocol

import (
	"cmp"
	"strings"
	"sync"
	"time"

	"agenthost/bus"
	"agenthost/doors"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"
)

// queries are what an agent asks while it answers a prompt. Each is a chunk with a
// subject of its own, on which the caller answers once.
type queries struct {
	server   *Server
	exchange *doors.Exchange
	out      *stream

	mu   sync.Mutex
	open map[*nats.Subscription]time.Time // since when
	said map[string]bus.Outbound          // what was asked, by the id of the answer
	done bool
}

// query is the data of such a chunk.
type query struct {
	ID           string   `json:"id"`
	ReplySubject string   `json:"reply_subject"`
	Prompt       string   `json:"prompt"`
	Options      []string `json:"options,omitempty"`
}

// ask asks the caller, and says before it why it asks again.
func (q *queries) ask(asked bus.Outbound, why string) {
	id := nuid.Next()
	// A subject that only hosts listen on: an inbox of the caller's account may be
	// read by all of it.
	subject := q.server.subject("query", asked.Agent) + "." + id
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.done {
		return
	}
	sub, err := q.server.nc.Subscribe(subject, func(msg *nats.Msg) { q.take(msg, asked) })
	if err != nil {
		return // the connection is gone for good
	}
	if q.open == nil {
		q.open, q.said = map[*nats.Subscription]time.Time{}, map[string]bus.Outbound{}
	}
	q.open[sub] = time.Now()
	prompt := asked.Text
	if len(asked.Options) > 0 {
		prompt += "\n- " + strings.Join(asked.Options, "\n- ")
	}
	q.out.chunk(chunkQuery, query{ID: id, ReplySubject: subject, Prompt: cmp.Or(why, prompt), Options: asked.Options})
}

// take takes an answer. The first one counts.
func (q *queries) take(msg *nats.Msg, asked bus.Outbound) {
	id := nuid.Next()
	q.mu.Lock()
	_, first := q.open[msg.Sub]
	delete(q.open, msg.Sub)
	done := q.done
	if first {
		_ = msg.Sub.Unsubscribe() // the connection may be gone
		q.said[id] = asked
	}
	q.mu.Unlock()
	if !first || done {
		return
	}
	p, err := readPrompt(msg.Data)
	if err == nil {
		err = q.exchange.AnswerAs(q.server.ctx, id, asked.Call, p.text)
	}
	if err != nil {
		q.ask(asked, "The answer was not taken: "+err.Error()+"\n\n"+asked.Text)
	}
}

// again asks once more what an answer was refused for.
func (q *queries) again(refused bus.Outbound) {
	q.mu.Lock()
	asked, ok := q.said[refused.InReplyTo]
	q.mu.Unlock()
	if ok {
		q.ask(asked, refused.Text)
	}
}

// overdue reports whether a caller has not answered in time.
func (q *queries) overdue() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, since := range q.open {
		if time.Since(since) > q.server.opt.QueryWithin {
			return true
		}
	}
	return false
}

func (q *queries) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.done = true
	for sub := range q.open {
		_ = sub.Unsubscribe() // the connection may be gone
	}
}
