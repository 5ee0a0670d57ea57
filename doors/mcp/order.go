package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"time"

	"agenthost/doors"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// The calls of a client on stdio come in an order, but the SDK begins all of them at once. An order
// has those that name the same session store their messages in the order of their lines.
type order struct {
	mu   sync.Mutex
	last map[string]*ticket     // of the newest call, by agent and session
	of   map[string]*ticket     // by their numbers, until they have passed
	by   map[jsonrpc.ID]*ticket // until the request is answered
	n    int
}

// A ticket is the place of a call among those of its session.
type ticket struct {
	number, session string
	before          <-chan struct{} // closed once the call before has passed; nil without one
	passed          chan struct{}   // closed once its message is stored, or never will be
}

// metaTicket in the _meta of a call is the number of its ticket: the SDK does not tell a tool the id of
// the request.
const metaTicket = "agenthost/ticket"

// passWithin bounds what a call waits for those before it.
const passWithin = 5 * time.Second

func newOrder() *order {
	return &order{last: map[string]*ticket{}, of: map[string]*ticket{}, by: map[jsonrpc.ID]*ticket{}}
}

// line issues the ticket of a call, and returns the message with its number. Other requests and
// calls without a session get none.
func (o *order) line(r *jsonrpc.Request, message []byte) []byte {
	session := sessionOf(r)
	if session == "" {
		return message
	}
	var params map[string]json.RawMessage
	var meta map[string]any
	if json.Unmarshal(r.Params, &params) != nil || len(params["_meta"]) > 0 && json.Unmarshal(params["_meta"], &meta) != nil {
		return message // it is refused
	}
	if meta == nil {
		meta = map[string]any{}
	}
	meta[metaTicket] = o.issue(r.ID, session)
	numbered := *r
	var err error
	if params["_meta"], err = json.Marshal(meta); err == nil {
		numbered.Params, err = json.Marshal(params)
	}
	if err != nil {
		return message
	}
	data, err := jsonrpc.EncodeMessage(&numbered)
	if err != nil {
		return message
	}
	return data
}

func (o *order) issue(id jsonrpc.ID, session string) (number string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.n++
	t := &ticket{number: strconv.Itoa(o.n), session: session, passed: make(chan struct{})}
	if last := o.last[session]; last != nil {
		t.before = last.passed
	}
	o.last[session], o.of[t.number], o.by[id] = t, t, t
	return t.number
}

// sessionOf is the agent and the session of a call that names one.
func sessionOf(r *jsonrpc.Request) string {
	var params struct {
		Name      string `json:"name"`
		Arguments struct {
			Session string `json:"session"`
		} `json:"arguments"`
	}
	if r.Method != "tools/call" || json.Unmarshal(r.Params, &params) != nil || params.Arguments.Session == "" {
		return ""
	}
	return params.Name + "\x00" + params.Arguments.Session
}

// enter waits until the calls before this one have stored their messages, or cannot. leave has to be
// called once that holds for this one.
func (o *order) enter(ctx context.Context, number any) (leave func(), err error) {
	text, _ := number.(string)
	o.mu.Lock()
	t := o.of[text]
	o.mu.Unlock()
	if t == nil {
		return func() {}, nil
	}
	leave = func() { o.pass(t) }
	if t.before == nil {
		return leave, nil
	}
	wait := time.NewTimer(passWithin)
	defer wait.Stop()
	select {
	case <-t.before:
		return leave, nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-wait.C:
		err = fmt.Errorf("%w: an earlier call in this session is not stored yet", doors.ErrAway)
	}
	leave()
	return func() {}, err
}

func (o *order) pass(t *ticket) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.of[t.number] != t {
		return // it has passed
	}
	close(t.passed)
	delete(o.of, t.number)
	if o.last[t.session] == t {
		delete(o.last, t.session)
	}
}

// answered is called with the response to a request, which the SDK may have refused by itself.
func (o *order) answered(id jsonrpc.ID) {
	o.mu.Lock()
	t := o.by[id]
	delete(o.by, id)
	o.mu.Unlock()
	if t != nil {
		o.pass(t)
	}
}
