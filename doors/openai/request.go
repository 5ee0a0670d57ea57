package openai

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"agenthost/bus"
	"agenthost/client"
	"agenthost/doors"
	"agenthost/run"

	"github.com/nats-io/nuid"
)

// repeatWithin is how long after its end a request without a key is known again.
const repeatWithin = 60 * time.Second

// An asked is a request of a client, of either API.
type asked struct {
	visit doors.Visit
	body  []byte
	model string
	user  string
	turns []turn
	param string // where the turns are in the request
	tools []bus.ClientTool
	// previous is the session that the request goes on with; nil: none.
	previous *doors.Place
}

// A job is a request on its way.
type job struct {
	request doors.Request
	record  record
	repeat  bool
	// waits are the calls of the session's run that a person has to answer.
	waits []run.Call
	// results are those of calls that the client has run; the last of them is the
	// request itself where the person says nothing.
	results []result
	// own says that the session is of this request alone.
	own bool
}

func (j *job) place() doors.Place { return j.request.Place() }

// prepare makes a job of a request: which message it is, and in which session.
func (d *door) prepare(r *http.Request, a asked) (*job, error) {
	if !a.visit.Has(a.model) {
		return nil, noModel(a.model)
	}
	if len(a.user) > bus.LongestID || strings.ContainsRune(a.user, 0) {
		return nil, badRequest("user", "user can have up to "+strconv.Itoa(bus.LongestID)+" bytes, and no NUL character")
	}
	session := r.Header.Get("Agent-Session")
	if session != "" && (len(session) > bus.LongestID || strings.TrimSpace(session) == "") {
		return nil, badRequest("", "the header Agent-Session can have up to "+strconv.Itoa(bus.LongestID)+" bytes")
	}
	j := &job{request: doors.Request{Agent: a.model, Instance: a.visit.Instance, From: a.user, Conversation: session}}
	if a.previous != nil {
		j.request.Conversation = a.previous.Conversation
	}
	if j.results = results(a); len(j.results) > 0 {
		j.request.Conversation = j.results[0].conversation
	}
	j.own = j.request.Conversation == ""
	says, err := news(unanswered(a.turns, j.results), a.param)
	switch {
	case len(j.results) > 0 && says.empty():
		err = nil
	case j.own:
		says, err = whole(a.turns, a.param)
	}
	if err != nil {
		return nil, err
	}
	if says.empty() && len(j.results) == 0 {
		return nil, badRequest(a.param, "the message of the user is empty")
	}
	ctx := r.Context()
	if err := d.identify(ctx, r, a, j); err != nil {
		return nil, err
	}
	if !j.own {
		if err := d.join(ctx, j); err != nil {
			return nil, err
		}
	}
	j.request.Text, j.request.Tools = says.text, a.tools
	if says.empty() {
		last := j.results[len(j.results)-1]
		j.results = j.results[:len(j.results)-1]
		j.request.Text, j.request.Answers, j.request.Tools = last.text, last.wait, nil
	}
	if j.request.Media, err = d.media(ctx, says.files); err != nil {
		return nil, err
	}
	j.request.History, err = d.before(ctx, says.history)
	return j, err
}

// identify finds out whether the request was made before.
func (d *door) identify(ctx context.Context, r *http.Request, a asked, j *job) error {
	session := r.Header.Get("Agent-Session")
	rec := record{
		Sum: sum(r.URL.Path, session, string(a.body)), Agent: a.model, Conversation: j.request.Conversation, At: time.Now().UTC().Truncate(time.Second),
	}
	err := d.recognize(ctx, r, a, rec, j)
	if err != nil {
		return err
	}
	j.request.ID, j.request.Conversation, j.request.First = j.record.ID, j.record.Conversation, !j.repeat
	return nil
}

func (d *door) recognize(ctx context.Context, r *http.Request, a asked, rec record, j *job) (err error) {
	if key := r.Header.Get("Idempotency-Key"); key != "" {
		return d.byKey(ctx, key, a, rec, j)
	}
	name := "body." + sum(a.visit.Instance, cmp.Or(a.user, doors.Anonymous), rec.Sum)
	if n, _ := strconv.Atoi(r.Header.Get("X-Stainless-Retry-Count")); n > 0 {
		if j.record, j.repeat, err = d.retried(ctx, name, a); err != nil || j.repeat {
			return err
		}
	}
	rec.ID = nuid.Next()
	rec.Conversation = cmp.Or(rec.Conversation, rec.ID)
	if !j.own {
		if rec.Since, err = d.head(ctx, j.place()); err != nil {
			return err
		}
	}
	j.record = rec
	return d.requests.put(ctx, name, rec)
}

// byKey takes the client's word for what the same request is.
func (d *door) byKey(ctx context.Context, key string, a asked, rec record, j *job) (err error) {
	if len(key) > bus.LongestID {
		return badRequest("", "the header Idempotency-Key can have up to "+strconv.Itoa(bus.LongestID)+" bytes")
	}
	name := sum(a.visit.Instance, key)
	rec.ID, rec.Conversation = key, cmp.Or(rec.Conversation, "key-"+name)
	if !j.own {
		if rec.Since, err = d.head(ctx, j.place()); err != nil {
			return err
		}
	}
	if j.record, j.repeat, err = d.requests.claim(ctx, "key."+name, rec); err != nil {
		return err
	}
	if j.record.Sum != rec.Sum {
		f := badRequest("", "this Idempotency-Key came with another request before; use a new one")
		f.status = http.StatusUnprocessableEntity
		return f
	}
	return nil
}

// retried is the request that a client makes again without a key: while its run is
// under way, and shortly after.
func (d *door) retried(ctx context.Context, name string, a asked) (record, bool, error) {
	rec, ok, err := d.requests.get(ctx, name)
	if err != nil || !ok {
		return rec, false, err
	}
	p := doors.Place{Agent: rec.Agent, Instance: a.visit.Instance, Conversation: rec.Conversation}
	t, err := d.trail(ctx, p, rec.ID, rec.Since)
	return rec, err == nil && t.repeatable(time.Now()), err
}

// repeatable reports whether a repeat without a key is of this message.
func (t trail) repeatable(now time.Time) bool {
	return t.outcome == nil || now.Sub(t.outcome.at) < repeatWithin
}

// head is the last commit of a session, 0 where it is new.
func (d *door) head(ctx context.Context, p doors.Place) (uint64, error) {
	_, seq, err := d.state(ctx, p)
	return seq, err
}

func (d *door) state(ctx context.Context, p doors.Place) (client.SessionState, uint64, error) {
	sid, err := client.SessionID(p.Agent, d.parts.Desk.Key(p))
	if err != nil {
		return client.SessionState{}, 0, err
	}
	state, about, err := d.sessions.State(ctx, p.Agent, sid)
	if errors.Is(err, client.ErrNoSession) {
		return client.SessionState{}, 0, nil
	}
	return state, about.Seq, err
}

// join finds what the session's run waits for: the message may be the answer.
func (d *door) join(ctx context.Context, j *job) error {
	state, _, err := d.state(ctx, j.place())
	if err != nil || state.Run == nil {
		return err
	}
	for _, c := range state.Run.Open() {
		if c.Asked != run.ForDelegate {
			j.waits = append(j.waits, c)
		}
	}
	if len(j.waits) > 0 {
		for _, in := range state.Run.Inputs {
			j.request.Also = append(j.request.Also, in.ID)
		}
		j.request.Also = slices.DeleteFunc(j.request.Also, func(id string) bool { return id == j.record.ID })
	}
	return nil
}
