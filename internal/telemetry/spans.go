package telemetry

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"agenthost/bus"
	"agenthost/llm"
	"agenthost/run"

	commonv1 "go.opentelemetry.io/proto/slim/otlp/common/v1"
	tracev1 "go.opentelemetry.io/proto/slim/otlp/trace/v1"
)

// The names of spans and attributes are those of OpenTelemetry's semantic conventions 1.41,
// the last to hold those for generative AI, and for messaging. What they have no name for begins
// with agenthost.

// A writer makes the spans of one run.
type writer struct {
	story *story
	trace traceID
	run   *tracev1.Span
	calls map[string]*tracev1.Span // of tools, by their ids
	tools map[string]bool          // there are, by their names
	all   []*tracev1.Span
	usage llm.Usage
	cost  int64
}

func (w *writer) span(under, id spanID, name string, kind tracev1.Span_SpanKind, start, end time.Time) *tracev1.Span {
	if !end.After(start) { // clocks of hosts differ, and Jaeger warns of spans that take no time
		end = start.Add(time.Nanosecond)
	}
	s := &tracev1.Span{
		TraceId: w.trace[:], SpanId: id[:], Name: valid(name), Kind: kind,
		StartTimeUnixNano: uint64(start.UnixNano()), EndTimeUnixNano: uint64(end.UnixNano()),
	}
	if (under != spanID{}) {
		s.ParentSpanId = under[:]
	}
	w.all = append(w.all, s)
	return s
}

func (w *writer) inRun(id spanID, name string, kind tracev1.Span_SpanKind, start, end time.Time) *tracev1.Span {
	return w.span(spanID(w.run.SpanId), id, name, kind, start, end)
}

func (w *writer) end() time.Time { return w.story.events[len(w.story.events)-1].At }

func (w *writer) describeRun() {
	s, first := w.story, &w.story.events[0]
	w.on(w.run).text("gen_ai.operation.name", "invoke_agent").text("gen_ai.agent.name", s.agent).text("gen_ai.agent.id", s.agent).
		text("gen_ai.conversation.id", s.sid).text("agenthost.run.id", s.run).text("agenthost.run.trigger", string(first.Trigger))
}

// event writes what an event says.
func (w *writer) event(i int, e *run.Event) {
	switch e.Type {
	case run.Started:
		if i > 0 {
			w.note(w.run, e, "run.resumed").number("agenthost.run.attempt", int64(e.Attempt))
		}
	case run.ModelCalled:
		w.modelCall(i, e)
	case run.ToolRequested:
		w.toolCall(e)
	case run.Delegated:
		if call := w.calls[e.Call]; call != nil { // by this id the run of the other agent knows it
			id := spanOf("call", e.CorrelationID)
			call.SpanId = id[:]
			w.on(call).text("agenthost.delegate.agent", e.To)
		}
	case run.ToolFinished:
		w.toolEnd(e)
	case run.ApprovalAsked, run.QuestionAsked:
		w.note(w.callOf(e), e, string(e.Type))
	case run.ApprovalAnswered, run.QuestionAnswered:
		w.note(w.callOf(e), e, string(e.Type)).text("agenthost.answer", e.Answer)
	case run.InputAdded:
		if e.Input != nil {
			w.note(w.run, e, string(e.Type)).text("messaging.message.id", e.Input.OwnID())
			link(w.run, e.Input)
		}
	case run.Suspended, run.Compacted:
		w.note(w.run, e, string(e.Type))
	case run.Replied:
		if e.Reply != nil && e.Reply.Subject != "" {
			out := w.inRun(spanOf("reply", e.Reply.ID), "publish "+destination(e.Reply.Subject), tracev1.Span_SPAN_KIND_PRODUCER, e.At, e.At)
			w.on(out).messaging("publish", e.Reply.Subject, e.Reply.ID).text("agenthost.reply.kind", e.Reply.Kind)
		}
	case run.Finished:
		w.on(w.run).text("agenthost.run.outcome", string(e.Outcome))
		if e.Error != nil {
			w.fail(w.run, string(e.Error.Code))
		}
	}
}

// destination is a subject as the name of a span has it: there are not many.
func destination(subject string) string {
	for _, prefix := range []string{bus.InboundPrefix, bus.OutboundPrefix, "agent."} {
		if strings.HasPrefix(subject, prefix) {
			return subject
		}
	}
	return "(temporary)"
}

// callOf is the span of the tool that asks, or of the run where that does.
func (w *writer) callOf(e *run.Event) *tracev1.Span {
	if call := w.calls[e.Call]; call != nil {
		return call
	}
	return w.run
}

// providers are the names of the conventions for ours, where they differ.
var providers = map[string]string{"gemini": "gcp.gemini"}

func (w *writer) modelCall(i int, e *run.Event) {
	if e.Skipped != "" {
		w.note(w.run, e, "model.skipped").text("agenthost.model.entry", e.Entry).text("agenthost.reason", e.Skipped)
		return
	}
	start := e.At.Add(-time.Duration(e.MS) * time.Millisecond)
	if first := w.story.events[0].At; start.Before(first) {
		start = first
	}
	call := w.inRun(spanOf("model", w.story.run+" "+strconv.Itoa(i)), "chat "+cmp.Or(e.Model, e.Entry), tracev1.Span_SPAN_KIND_CLIENT, start, e.At)
	provider := e.Provider
	if name, ok := providers[provider]; ok {
		provider = name
	}
	at := w.on(call).text("gen_ai.operation.name", "chat").text("gen_ai.provider.name", provider).text("gen_ai.request.model", e.Model).
		text("agenthost.model.entry", e.Entry).number("http.response.status_code", int64(e.Status))
	if e.Usage != nil {
		at.tokens(*e.Usage)
		w.usage.Input, w.usage.Output = w.usage.Input+e.Usage.Input, w.usage.Output+e.Usage.Output
	}
	if e.Priced {
		at.money(e.Cost)
		w.cost += e.Cost
	}
	if e.Error != nil {
		w.fail(call, string(e.Error.Code))
	}
}

// toolCall writes a call. The name of a tool that there is not is the model's own word.
func (w *writer) toolCall(e *run.Event) {
	name, shown := e.Name, e.Name
	if !w.tools[name] {
		name, shown = "", "(unknown)"
	}
	call := w.inRun(spanOf("call", w.story.run+" "+e.Call), "execute_tool "+shown, tracev1.Span_SPAN_KIND_INTERNAL, e.At, w.end())
	w.on(call).text("gen_ai.operation.name", "execute_tool").text("gen_ai.tool.name", name).text("gen_ai.tool.call.id", e.Call)
	w.calls[e.Call] = call
}

func (w *writer) toolEnd(e *run.Event) {
	call := w.calls[e.Call]
	if call == nil {
		return
	}
	call.EndTimeUnixNano = max(call.StartTimeUnixNano, uint64(e.At.UnixNano()))
	w.on(call).text("agenthost.result.source", e.Source)
	if !e.OK {
		kind := e.Source
		if kind == "" || kind == run.FromTool {
			kind = "tool_error"
		}
		w.fail(call, kind)
	}
}

// total is what the run has used in all.
func (w *writer) total() {
	at := w.on(w.run)
	if w.usage != (llm.Usage{}) {
		at.tokens(w.usage)
	}
	if w.cost > 0 {
		at.money(w.cost)
	}
}

func (w *writer) fail(s *tracev1.Span, kind string) {
	s.Status = &tracev1.Status{Code: tracev1.Status_STATUS_CODE_ERROR, Message: valid(kind)}
	w.on(s).text("error.type", kind)
}

// note adds an event to a span.
func (w *writer) note(s *tracev1.Span, e *run.Event, name string) describing {
	n := &tracev1.Span_Event{TimeUnixNano: uint64(e.At.UnixNano()), Name: name}
	s.Events = append(s.Events, n)
	return describing{(*attributes)(&n.Attributes)}
}

func (w *writer) on(s *tracev1.Span) describing { return describing{(*attributes)(&s.Attributes)} }

// valid is a text as a request takes it. All that is not of this package goes through it: one
// byte that is no UTF-8 would cost a whole batch.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

type attributes []*commonv1.KeyValue

func (a *attributes) text(key, value string) {
	*a = append(*a, &commonv1.KeyValue{Key: valid(key), Value: &commonv1.AnyValue{Value: &commonv1.AnyValue_StringValue{StringValue: valid(value)}}})
}

// describing adds attributes; what is empty has none.
type describing struct{ list *attributes }

func (d describing) text(key, value string) describing {
	if value != "" {
		d.list.text(key, value)
	}
	return d
}

func (d describing) number(key string, n int64) describing {
	if n != 0 {
		*d.list = append(*d.list, &commonv1.KeyValue{Key: key, Value: &commonv1.AnyValue{Value: &commonv1.AnyValue_IntValue{IntValue: n}}})
	}
	return d
}

func (d describing) tokens(u llm.Usage) {
	d.number("gen_ai.usage.input_tokens", u.Input).number("gen_ai.usage.output_tokens", u.Output).
		number("gen_ai.usage.cache_read.input_tokens", u.CacheRead).number("gen_ai.usage.cache_creation.input_tokens", u.CacheWrite)
}

// money is a cost in micro-cents, in dollars.
func (d describing) money(cost int64) {
	*d.list = append(*d.list, &commonv1.KeyValue{Key: "agenthost.cost.usd", Value: &commonv1.AnyValue{Value: &commonv1.AnyValue_DoubleValue{DoubleValue: float64(cost) / 1e8}}})
}

func (d describing) messaging(operation, subject, id string) describing {
	kind := operation
	if operation == "publish" {
		kind = "send"
	}
	return d.text("messaging.system", "nats").text("messaging.operation.name", operation).text("messaging.operation.type", kind).
		text("messaging.destination.name", subject).text("messaging.message.id", id)
}
