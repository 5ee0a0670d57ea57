package telemetry

import (
	"encoding/json"
	"strconv"
	"strings"

	"agenthost/bus"
	"agenthost/run"

	tracev1 "go.opentelemetry.io/proto/slim/otlp/trace/v1"
)

// A story is what is known of a run: its events, without what people, models and tools have
// said.
type story struct {
	agent, sid, run string
	until           uint64 // the last commit of the session that is known here
	events          []run.Event
}

// add takes an event down, which may change later. Messages, which also come before the
// beginning of a run, tell nothing of it.
func (s *story) add(e *run.Event) {
	if e.Type == run.MessageAdded {
		return
	}
	c := run.Event{
		Type: e.Type, At: e.At, Run: e.Run, Trigger: e.Trigger, Attempt: e.Attempt,
		Provider: e.Provider, Model: e.Model, Entry: e.Entry, Status: e.Status, Reason: e.Reason, Skipped: e.Skipped, Cost: e.Cost, Priced: e.Priced, MS: e.MS,
		Call: e.Call, For: e.For, Name: e.Name, OK: e.OK, Source: e.Source, Scope: e.Scope, To: e.To, CorrelationID: e.CorrelationID, Outcome: e.Outcome,
	}
	for i := range e.Inputs {
		c.Inputs = append(c.Inputs, briefly(&e.Inputs[i]))
	}
	if e.Type == run.InputAdded && e.Run != "" && e.Input != nil { // it has joined the run
		c.Input = new(briefly(e.Input))
	}
	if e.Usage != nil {
		c.Usage = new(*e.Usage)
	}
	if e.Error != nil {
		c.Error = new(*e.Error)
	}
	if e.Reply != nil {
		c.Reply = &run.Reply{ID: e.Reply.ID, Kind: e.Reply.Kind, Subject: e.Reply.Subject}
	}
	if e.Type == run.ApprovalAnswered {
		c.Answer = e.Answer
	}
	s.events = append(s.events, c)
}

// briefly is an input without what it says: of a task of another agent only its correlation id
// is kept. That of a program is in the program's trace.
func briefly(in *run.Input) run.Input {
	c := *in.Brief()
	c.Trace, c.State = in.Trace, in.State
	if strings.HasPrefix(in.Subject, bus.RoutePrefix) {
		task := struct {
			Kind          string `json:"kind"`
			From          string `json:"from"`
			CorrelationID string `json:"correlation_id"`
		}{}
		if json.Unmarshal(in.Envelope, &task) == nil && task.Kind == bus.RouteDelegate && task.From != "" && !strings.HasPrefix(task.From, bus.ProgramPrefix) {
			c.Envelope = json.RawMessage(task.CorrelationID)
		}
	}
	return c
}

// whole reports whether the story has its beginning: that which brings the messages, or the
// first try of a run that has none.
func (s *story) whole() bool {
	if len(s.events) == 0 || s.events[0].Type != run.Started {
		return false
	}
	return len(s.events[0].Inputs) > 0 || s.events[0].Attempt <= 1
}

// tools are the names of those called that there are: known knows them, or a call of theirs was
// no mistake of the model, nor ended before that could be told.
func (s *story) tools(known func(name string) bool) map[string]bool {
	names, exist := map[string]string{}, map[string]bool{}
	for i := range s.events {
		switch e := &s.events[i]; e.Type {
		case run.ToolRequested:
			names[e.Call] = e.Name
			exist[e.Name] = exist[e.Name] || known != nil && known(e.Name)
		case run.ApprovalAsked, run.QuestionAsked, run.Delegated:
			exist[names[e.Call]] = true
		case run.ToolFinished:
			if e.Source != run.FromCorrection && e.Source != run.FromEnd && e.Source != run.FromRecovery {
				exist[names[e.Call]] = true
			}
		}
	}
	return exist
}

// root is where the run belongs: its trace, and the span above it there. As everywhere, a run is
// in the trace of the last message that it began with.
func (s *story) root(which sampler) parent {
	first := &s.events[0]
	if len(first.Inputs) == 0 {
		return which.begin(traceOf(s.run, first.At))
	}
	last := &first.Inputs[len(first.Inputs)-1]
	p, ok := parse(last.Trace)
	switch {
	case !ok: // it came without a trace, or while no traces were made
		return which.begin(traceOf(last.Subject+" "+strconv.FormatUint(last.Seq, 10), first.At))
	case p.span == spanOfInput(s.agent, last.Subject, last.Seq): // it has begun here
		p.span = spanID{}
		return p
	case len(last.Envelope) > 0: // a task: its parent is the call of the agent that asked
		return parent{p.trace, spanOf("call", string(last.Envelope)), which.takes(p)}
	default:
		p.sampled = which.takes(p)
		return p
	}
}

// traced reports whether there will be spans of the run: its beginning is known, and sampled.
func (s *story) traced(which sampler) bool { return s.whole() && s.root(which).sampled }

// spans are those of a run that is over; none where it is not traced.
func (s *story) spans(which sampler, known func(tool string) bool) []*tracev1.Span {
	if !s.traced(which) {
		return nil
	}
	w := &writer{story: s, calls: map[string]*tracev1.Span{}, tools: s.tools(known)}
	w.begin(s.root(which))
	w.describeRun()
	for i := range s.events {
		w.event(i, &s.events[i])
	}
	w.total()
	return w.all
}

// begin makes the spans of the message and of the run, which is linked to its other messages.
func (w *writer) begin(root parent) {
	w.trace = root.trace
	start, inputs, under := w.story.events[0].At, w.story.events[0].Inputs, root.span
	if n := len(inputs); n > 0 {
		last, own := &inputs[n-1], spanOfInput(w.story.agent, inputs[n-1].Subject, inputs[n-1].Seq)
		input := w.span(under, own, "process "+destination(last.Subject), tracev1.Span_SPAN_KIND_CONSUMER, start, w.end())
		input.TraceState = stateOf(last.State)
		w.on(input).messaging("process", last.Subject, last.ID).number("agenthost.message.sequence", int64(last.Seq))
		for i := range inputs[:n-1] {
			link(input, &inputs[i])
		}
		under = own
	}
	w.run = w.span(under, spanOf("run", w.story.run), "invoke_agent "+w.story.agent, tracev1.Span_SPAN_KIND_INTERNAL, start, w.end())
}

// link links a span to the trace of an input, if that has one.
func link(s *tracev1.Span, in *run.Input) {
	if p, ok := parse(in.Trace); ok {
		s.Links = append(s.Links, &tracev1.Span_Link{TraceId: p.trace[:], SpanId: p.span[:], TraceState: stateOf(in.State)})
	}
}
