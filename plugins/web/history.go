package web

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"agenthost/bus"
	"agenthost/client"
	"agenthost/run"
	"agenthost/tools"
)

// mostItems is how many lines of a conversation are sent at once.
const mostItems = 200

// history answers with the lines of a conversation, the last ones or those before
// the one that the query names, and with what goes on there.
func (w *Web) history(rw http.ResponseWriter, r *http.Request) {
	at, ok := w.place(rw, r)
	if !ok || !w.begin(rw, r) {
		return
	}
	after := w.hub.newest() // before the log is read: what comes later is sent as an event
	story, err := w.read(r.Context(), at)
	if err != nil {
		w.fail(rw, r, "read the conversation", err)
		return
	}
	for _, it := range w.hub.unanswered(at) {
		story.addPending(it)
	}
	items := story.items
	if before := r.URL.Query().Get("before"); before != "" {
		if i := slices.IndexFunc(items, func(it *Item) bool { return it.ID == before }); i >= 0 {
			items = items[:i]
		}
	}
	more := len(items) > mostItems
	items = items[max(0, len(items)-mostItems):]
	answer(rw, http.StatusOK, map[string]any{
		"items": nonNil(items), "more": more, "after": after, "running": story.running, "tools": nonNil(story.open()),
	})
}

func nonNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// read reads the log of a conversation. One that has not begun is empty.
func (w *Web) read(ctx context.Context, at place) (*story, error) {
	s := newStory(at)
	sid, err := client.SessionID(at.agent, w.keyOf(at))
	if err != nil {
		return nil, err
	}
	for f, err := range w.parts.Client.Sessions().History(ctx, at.agent, sid, 1) {
		if errors.Is(err, client.ErrNoSession) {
			break
		}
		if err != nil {
			return nil, err
		}
		s.take(f)
	}
	s.showCalls()
	return s, nil
}

// A story is a log, as the page shows it.
type story struct {
	at      place
	items   []*Item
	byID    map[string]*Item
	media   map[string][]bus.Media // of each item
	waits   map[string]string      // the random part of a wait's id → its call
	calls   map[string]call
	tools   []tool
	running bool
}

type tool struct{ call, name string }

// A call is what a model wants to run.
type call struct {
	name string
	args json.RawMessage
}

func newStory(at place) *story {
	return &story{at: at, byID: map[string]*Item{}, media: map[string][]bus.Media{}, waits: map[string]string{}, calls: map[string]call{}}
}

// take takes the next event of the log.
func (s *story) take(f client.Fact) {
	e := f.Event
	switch e.Type {
	case run.Started:
		s.running = true
		for _, in := range e.Inputs {
			s.addInput(in, e)
		}
	case run.InputAdded, run.InputRefused, run.OperatorHeard, run.OperatorSaid:
		if e.Input != nil {
			s.addInput(*e.Input, e)
		}
		s.addReply(e.Reply)
	case run.Replied:
		s.addReply(e.Reply)
	case run.ApprovalAsked, run.QuestionAsked:
		id := f.Of + "/" + e.Call
		s.waits[e.Wait] = id
		if c := s.calls[id]; len(e.Args) > 0 {
			s.calls[id] = call{cmp.Or(e.Name, c.name), e.Args}
		}
	case run.ApprovalAnswered, run.QuestionAnswered:
		s.answered(f.Of+"/"+e.Call, e.Answer)
	case run.ToolRequested:
		s.tools = append(s.tools, tool{e.Call, e.Name})
		s.calls[f.Of+"/"+e.Call] = call{e.Name, e.Args}
	case run.ToolFinished:
		s.tools = slices.DeleteFunc(s.tools, func(t tool) bool { return t.call == e.Call })
	case run.Finished:
		s.finished(f.Of)
	}
}

func (s *story) addInput(in run.Input, e run.Event) {
	if in.Subject != inward {
		return // a reminder, or what a program sends into the chat
	}
	msg, err := bus.ReadInbound(in.Envelope)
	if err != nil {
		return
	}
	msg.ID = in.ID
	if it := ofInbound(&msg, s.at.agent, e.At); it != nil {
		s.add(it, msg.Media)
	}
}

func (s *story) addReply(r *run.Reply) {
	if r == nil || r.Subject != outward {
		return
	}
	if out, ok := readOutbound(r.Envelope); ok {
		s.add(ofOutbound(out), out.Media)
	}
}

// add adds a line once, however often it was tried.
func (s *story) add(it *Item, media []bus.Media) {
	if s.byID[it.ID] != nil {
		return
	}
	s.byID[it.ID], s.media[it.ID] = it, media
	s.items = append(s.items, it)
}

// addPending adds what a person has written and no run has committed yet.
func (s *story) addPending(p pending) {
	if s.byID[p.item.ID] == nil {
		it := p.item
		s.add(&it, p.media)
		s.running = true
	}
}

// callOf is the call that an item asks about; empty: none.
func (s *story) callOf(it *Item) string {
	if it.Call == "" {
		return ""
	}
	return s.waits[it.Call[strings.LastIndexByte(it.Call, '.')+1:]]
}

// showCalls adds to each approval that is open all of the call that is to run: its
// text has room for the beginning only.
func (s *story) showCalls() {
	for _, it := range s.items {
		if c, ok := s.calls[s.callOf(it)]; ok && it.Kind == bus.KindApproval && !it.Closed {
			it.Whole = tools.Whole(c.name, c.args)
		}
	}
}

func (s *story) answered(call, answer string) {
	for _, it := range s.items {
		if it.Call != "" && s.callOf(it) == call {
			it.Answer, it.Closed = answer, true
		}
	}
}

// finished ends a run: what it has asked waits no more.
func (s *story) finished(id string) {
	s.running, s.tools = false, nil
	for _, it := range s.items {
		if it.Call != "" && it.Run == id {
			it.Closed = true
		}
	}
}

// open are the names of the tools that are at work.
func (s *story) open() []string {
	var names []string
	for _, t := range s.tools {
		names = append(names, t.name)
	}
	return names
}
