package bus

import (
	"encoding/json"
	"strings"
	"time"
)

// Route is what is published on agent.route.<agent>, and the answer to it.
type Route struct {
	ID            string          `json:"id,omitempty"`
	Kind          string          `json:"kind"`
	From          string          `json:"from,omitempty"`
	CorrelationID string          `json:"correlation_id,omitempty"`
	Text          string          `json:"text,omitempty"`
	Context       json.RawMessage `json:"context,omitempty"`
	ReplyTo       string          `json:"reply_to,omitempty"`
	Chain         []string        `json:"chain,omitempty"`
	Deadline      time.Time       `json:"deadline,omitzero"`
	Error         *Error          `json:"error,omitempty"`
	InReplyTo     string          `json:"in_reply_to,omitempty"` // result: the id of the delegate it answers
	Media         []Media         `json:"media,omitempty"`
	// Origin is where the person is whose message led to a delegate, so that
	// the agent that works on it can ask there.
	Origin *Origin `json:"origin,omitempty"`
	// Due is when the host's own schedule or heartbeat, which this is a firing
	// of, was due.
	Due time.Time `json:"due,omitzero"`
	// Missed is "skip" for a firing that is not to be made up for when it is
	// late.
	Missed string `json:"missed,omitempty"`
	// Scope is how far an approval goes that this result is the answer to.
	Scope string `json:"scope,omitempty"`
	// Args are what is to run in place of the arguments that were approved.
	Args json.RawMessage `json:"args,omitempty"`
	// Door is by which way a person has given the answer that this result is, or has
	// ordered the stop: the subject of a chat, DoorCLI, DoorAPI, DoorNATS or DoorDeadline. Empty,
	// it is the result of a task. It counts only where a host has signed it.
	Door string `json:"door,omitempty"`
	// AnsweredAt is when the message was stored that a result passes on, where that is another
	// message. It counts only where a host has signed it.
	AnsweredAt time.Time `json:"answered_at,omitzero"`
}

// An Origin is a conversation with a person.
type Origin struct {
	Agent   string `json:"agent"`   // whose conversation it is
	Session string `json:"session"` // its key
	Subject string `json:"subject"` // where its replies go
	To      string `json:"to,omitempty"`
	Chat    string `json:"chat,omitempty"`
	Thread  string `json:"thread,omitempty"`
	ReplyTo string `json:"reply_to,omitempty"` // the message that is being answered
}

// ProgramPrefix is before the name of who sends work and is no agent.
const ProgramPrefix = "program:"

// The kinds of route messages.
const (
	RouteDelegate  = "delegate"
	RouteResult    = "result"
	RouteEvent     = "event"
	RouteSchedule  = "schedule"
	RouteHeartbeat = "heartbeat"
)

// DecodeRoute reads the payload of a route message. A payload that is not a
// JSON object is the text of an event.
func DecodeRoute(data []byte) (Route, error) {
	w := wireRoute{}
	if err := decodeText(data, &w, &w.Text); err != nil {
		return Route{}, err
	}
	r := w.read()
	if r.Kind == "" {
		if r.ReplyTo != "" { // who names it waits for a result, which an event has not
			return Route{}, malformed("it has a reply_to and no kind; with kind delegate the result goes there")
		}
		r.Kind = RouteEvent
	}
	return r, r.check()
}

// ReadRoute reads what DecodeRoute has taken before, as a log keeps it.
func ReadRoute(data []byte) (Route, error) {
	w := wireRoute{}
	err := json.Unmarshal(exact(data), &w)
	return w.read(), err
}

// A wireRoute is a Route as programs write it. Some write every field, so what says nothing
// counts as absent: an empty time, and an error or an origin of empty fields.
type wireRoute struct {
	Route
	Deadline   optionalTime `json:"deadline"`
	Due        optionalTime `json:"due"`
	AnsweredAt optionalTime `json:"answered_at"`
}

func (w *wireRoute) read() Route {
	r := w.Route
	r.Deadline, r.Due, r.AnsweredAt = w.Deadline.Time, w.Due.Time, w.AnsweredAt.Time
	if r.Error != nil && *r.Error == (Error{}) {
		r.Error = nil
	}
	if r.Origin != nil && *r.Origin == (Origin{}) {
		r.Origin = nil
	}
	return r
}

type optionalTime struct{ time.Time }

func (t *optionalTime) UnmarshalJSON(data []byte) error {
	if string(data) == `""` {
		t.Time = time.Time{}
		return nil
	}
	return t.Time.UnmarshalJSON(data)
}

// KnownRoute reports whether kind is one of the kinds of route messages.
func KnownRoute(kind string) bool {
	switch kind {
	case RouteDelegate, RouteResult, RouteEvent, RouteSchedule, RouteHeartbeat:
		return true
	}
	return false
}

func (r *Route) check() error {
	if !KnownRoute(r.Kind) {
		return malformed("kind is %q; it can be delegate, result, event, schedule or heartbeat", clip(r.Kind))
	}
	switch {
	case r.Kind == RouteResult && r.CorrelationID == "":
		return malformed("a result needs the correlation_id of its delegate")
	case (r.Kind == RouteDelegate || r.Kind == RouteResult) && r.ReplyTo != "" && !ResultSubject(r.ReplyTo):
		return malformed("reply_to %q is not a subject to publish on", clip(r.ReplyTo))
	case r.Origin != nil && !chatSubject(r.Origin.Subject):
		return malformed("origin.subject %q is not a subject to publish on", clip(r.Origin.Subject))
	case r.Kind != RouteResult && strings.TrimSpace(r.Text) == "" && len(r.Media) == 0 && (r.Kind != RouteHeartbeat || r.Due.IsZero()):
		return ErrNoContent
	case strings.ContainsRune(r.Text, 0):
		return malformed("its text holds a NUL character")
	}
	return checkMedia(r.Media)
}

// Foreign makes of r what it is when no host has signed it: the work of a program,
// which is no agent, whatever it says, has no part in the conversations of agents and
// does not speak on their channels. data is the payload of r; what Foreign returns is
// that of what it has become.
func (r *Route) Foreign(data []byte) ([]byte, error) {
	if r.Origin != nil && !Publishable(r.Origin.Subject) {
		return nil, malformed("origin.subject %q is not one that a program may name", clip(r.Origin.Subject))
	}
	changed := map[string]any{}
	if asks := r.Kind == RouteDelegate || r.Kind == RouteResult; asks && r.From != "" && !strings.HasPrefix(r.From, ProgramPrefix) {
		r.From = ProgramPrefix + r.From
		changed["from"] = r.From
	}
	if r.Kind == RouteDelegate && r.From == "" { // a session has a name for whose work it is
		r.From = ProgramPrefix + "anonymous"
		changed["from"] = r.From
	}
	if r.Origin != nil && r.Origin.Agent != "" {
		r.Origin.Agent, r.Origin.Session = "", ""
		changed["origin"] = r.Origin
	}
	if r.Door != "" {
		r.Door = ""
		changed["door"] = r.Door
	}
	if len(changed) == 0 {
		return data, nil
	}
	return patched(data, changed)
}

// patched is a JSON object with other values for some of its fields.
func patched(data []byte, changed map[string]any) ([]byte, error) {
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, malformed("%s", jsonReason(err))
	}
	for name, v := range changed {
		value, err := json.Marshal(v)
		if err != nil {
			return nil, malformed("its %s: %s", name, err)
		}
		fields[name] = value
	}
	return json.Marshal(fields)
}
