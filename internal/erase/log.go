package erase

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"agenthost/bus"
	"agenthost/internal/erasure"
	"agenthost/llm"
	"agenthost/run"

	"github.com/nats-io/nuid"
)

// A logEdit erases a person from the log of a session that is not theirs alone, event by
// event.
type logEdit struct {
	r     *redactor
	names words // the person's id and names, when they take part in the session
	other map[string]string
	runs  map[string]*theirsIn
	now   *theirsIn // of the run of the event
}

// theirsIn is what the person has said in a run.
type theirsIn struct {
	words words
	texts []string
	names []string
	media []string // objects and addresses
}

// ofPerson reports whether an input is of the person.
func ofPerson(p erasure.Person, in *run.Input) (bus.Inbound, bool) {
	place := erasure.PlaceOf(in.Subject)
	if place == "" {
		if _, ok := bus.AgentOf(in.Subject); !ok || strings.HasPrefix(in.Subject, bus.DuePrefix) {
			return bus.Inbound{}, false
		}
		r, own := asked(p, in.Envelope)
		return bus.Inbound{From: r.From, Text: r.Text, Media: r.Media}, own
	}
	env, _ := bus.ReadInbound(in.Envelope) // what it has will do
	return env, p.Wrote(place, env.From)
}

// inputs are those that an event has.
func inputs(e *run.Event) []run.Input {
	list := slices.Clip(e.Inputs)
	if e.Input != nil {
		list = append(list, *e.Input)
	}
	return list
}

// event is the event as it is from now on; nil when it stays.
func (l *logEdit) event(of string, raw json.RawMessage) (json.RawMessage, error) {
	e := run.Event{}
	if err := json.Unmarshal(raw, &e); err != nil {
		return nil, err
	}
	of = cmp.Or(e.Run, of)
	if l.now = l.runs[of]; l.now == nil {
		l.now = &theirsIn{}
		l.runs[of] = l.now
	}
	own := false
	for _, in := range inputs(&e) {
		if env, mine := ofPerson(l.r.person, &in); mine {
			own = true
			l.heard(env, in.OwnID())
		}
		l.renameAccount(&in)
	}
	tree, err := decode(raw)
	if err != nil {
		return nil, err
	}
	fields, ok := tree.(map[string]any)
	if !ok {
		return nil, nil
	}
	said := l.said(&e, own)
	if said {
		fields["message"] = erasedMessage(fields["message"])
	}
	now, changed := l.r.value(fields, "", view{words: []*words{&l.r.quotes, &l.now.words, &l.names}, other: l.other})
	if !changed && !said {
		return nil, nil
	}
	return encode(now)
}

// heard notes what a message of the person says.
func (l *logEdit) heard(env bus.Inbound, id string) {
	l.now.add(env)
	l.now.names = append(l.now.names, cmp.Or(env.Name, cmp.Or(env.From, erasure.Anonymous)))
	whole := words{}
	whole.addName(l.r.person.From)
	if whole.replace(id) != id && l.other[id] == "" {
		l.other[id] = "erased-" + nuid.Next()
	}
}

// add notes what a message of the person says.
func (n *theirsIn) add(env bus.Inbound) {
	n.words.addMessage(env)
	n.texts = append(n.texts, textsOf(env)...)
	for _, m := range env.Media {
		n.media = append(n.media, m.Object, m.URL)
	}
	for _, turn := range env.History {
		for _, m := range turn.Media {
			n.media = append(n.media, m.Object, m.URL)
		}
	}
}

// renameAccount notes another id for an input whose id names the account of the person: the log of a
// session that accounts share has such ids, and that of another session has them of its approvers.
func (l *logEdit) renameAccount(in *run.Input) {
	if l.other[in.ID] == "" && l.r.person.Logged(in.ID) {
		l.other[in.ID] = "erased-" + nuid.Next()
	}
}

// said reports whether the message of an event is the person's alone.
func (l *logEdit) said(e *run.Event, own bool) bool {
	m := e.Message
	switch {
	case m == nil || m.Role != llm.User:
		return false
	case m.Name != "":
		return slices.Contains(l.now.names, m.Name)
	case own && e.Type == run.InputAdded:
		return true
	}
	text := m.Text()
	return slices.Contains(l.now.texts, text) && (text != "" || slices.ContainsFunc(m.Media(), func(one *llm.Media) bool {
		return one.Object != "" && slices.Contains(l.now.media, one.Object) || one.URL != "" && slices.Contains(l.now.media, one.URL)
	}))
}

// erasedMessage is what is left of a message of the person.
func erasedMessage(message any) any {
	left := map[string]any{"role": "user", "parts": []any{map[string]any{"type": "text", "text": Erased}}}
	if m, ok := message.(map[string]any); ok && m["name"] != nil {
		left["name"] = Erased
	}
	return left
}

// ends reports whether the unfinished run is there for the person alone.
func (l *logEdit) ends(r run.Run) bool {
	if len(r.Inputs) == 0 {
		return false
	}
	for _, in := range r.Inputs {
		env := struct {
			From string `json:"from"`
		}{}
		_ = bus.ReadFields(in.Envelope, &env) // then it has no sender
		if env.From != Erased {
			return false
		}
	}
	return true
}
