package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"agenthost/bus/bustest"
	"agenthost/internal/telemetry"
	"agenthost/internal/telemetry/telemetrytest"
	"agenthost/llm"
	"agenthost/run"
	"agenthost/session"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"
	tracev1 "go.opentelemetry.io/proto/slim/otlp/trace/v1"
)

// traces sends to c until stop is called, or the test ends.
func traces(t *testing.T, c *telemetrytest.Collector, log *bustest.LogBuffer, history telemetry.History, variables map[string]string) (tr *telemetry.Traces, stop func()) {
	t.Helper()
	tr, err := telemetry.Open(telemetry.Options{
		Host: "kiwi", Version: "1", Log: zerolog.New(log), History: history,
		Getenv: func(name string) string {
			if name == "OTEL_EXPORTER_OTLP_ENDPOINT" {
				return c.URL
			}
			return variables[name]
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = tr.Run(ctx)
	}()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	return tr, stop
}

const (
	subject = "agent.session.ana.s1"
	parent  = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
)

// A logged is the log of a session of which tr hears.
type logged struct {
	tr  *telemetry.Traces
	seq uint64
}

func (l *logged) commit(id string, events ...run.Event) {
	l.seq++
	l.tr.Committed(subject, id, l.seq-1, l.seq, events)
}

// elsewhere is a commit of another host.
func (l *logged) elsewhere() { l.seq++ }

func at(seconds int) time.Time { return time.Unix(int64(1_800_000_000+seconds), 0) }

func begun() run.Event {
	return run.Event{Type: run.Started, At: at(0), Run: "r1", Trigger: run.ByMessage, Inputs: []run.Input{{ID: "m1", Subject: "plugin.inbound.web", Seq: 7, Trace: parent}}}
}

// worked is a run with a bit of everything, but its beginning.
func worked() []run.Event {
	return []run.Event{
		{Type: run.ModelCalled, At: at(3), Provider: "openai", Entry: "main", Skipped: "its breaker is open"},
		{Type: run.ModelCalled, At: at(4), Provider: "gemini", Model: "g1", Entry: "spare", Status: 503, MS: 500, Error: &run.Error{Code: llm.CodeProviderUnavailable}},
		{Type: run.ModelCalled, At: at(6), Provider: "gemini", Model: "g1", Entry: "spare", MS: 1000, Usage: &llm.Usage{Input: 5, Output: 2}, Priced: true, Cost: 3e8},
		{Type: run.ToolRequested, At: at(6), Call: "c1", Name: "write_file", Args: []byte(`{"path":"secret"}`)},
		{Type: run.ApprovalAsked, At: at(6), Call: "c1", Prompt: "may I see the secret?"},
		{Type: run.Suspended, At: at(6), Waiting: []string{"c1"}},
		{Type: run.ApprovalAnswered, At: at(60), Call: "c1", Answer: run.Approve, By: "the boss"},
		{Type: run.ToolFinished, At: at(61), Call: "c1", Source: run.FromTool, Result: "a secret", OK: false},
		{Type: run.Replied, At: at(62), Reply: &run.Reply{ID: "o1", Kind: run.KindReply, Subject: "_INBOX.x1", Envelope: []byte(`{"text":"a secret"}`)}},
		{Type: run.Finished, At: at(62), Run: "r1", Outcome: run.OutcomeSettled},
	}
}

const drawn = `process plugin.inbound.web
  invoke_agent ana
    chat g1
    chat g1
    execute_tool write_file
    publish (temporary)
`

func wait(t *testing.T, c *telemetrytest.Collector, n int) []*tracev1.Span {
	t.Helper()
	bustest.Eventually(t, fmt.Sprint(n, " spans are there"), func() bool { return len(c.Spans()[parent[3:35]]) >= n })
	return c.Spans()[parent[3:35]]
}

func TestSpansOfARun(t *testing.T) {
	t.Parallel()
	c := telemetrytest.NewCollector(t)
	tr, _ := traces(t, c, new(bustest.LogBuffer), nil, map[string]string{"OTEL_BSP_SCHEDULE_DELAY": "10"})
	log := &logged{tr: tr}
	log.commit("r1", begun())
	log.commit("", run.Event{Type: run.InputAdded}) // of no run
	log.commit("r1", worked()...)
	spans := wait(t, c, 6)
	if diff := cmp.Diff(drawn, telemetrytest.Tree(spans)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for _, s := range spans {
		if s.EndTimeUnixNano <= s.StartTimeUnixNano {
			t.Errorf("%s takes no time", s.Name)
		}
	}
	var all strings.Builder
	by := map[string]*tracev1.Span{}
	for _, s := range spans {
		by[s.Name] = s
		fmt.Fprintln(&all, s)
	}
	if strings.Contains(all.String(), "secret") || strings.Contains(all.String(), "boss") {
		t.Errorf("what was said is in it: %s", all.String())
	}
	tool := by["execute_tool write_file"]
	if took := tool.EndTimeUnixNano - tool.StartTimeUnixNano; took != uint64(55*time.Second) || len(tool.Events) != 2 || telemetrytest.Attributes(tool)["error.type"] != "tool_error" {
		t.Errorf("tool: got %s, %v", time.Duration(took), tool)
	}
	whole := telemetrytest.Attributes(by["invoke_agent ana"])
	if whole["gen_ai.usage.input_tokens"] != "5" || whole["agenthost.cost.usd"] != "3" || whole["gen_ai.conversation.id"] != "s1" || len(by["invoke_agent ana"].Events) != 2 {
		t.Errorf("run: got %v, %v", whole, by["invoke_agent ana"].Events)
	}
	if model := telemetrytest.Attributes(by["chat g1"]); model["gen_ai.provider.name"] != "gcp.gemini" || model["gen_ai.request.model"] != "g1" {
		t.Errorf("model: got %v", model)
	}
}

// What another host has begun is read from the log.
func TestSpansOfARunFromElsewhere(t *testing.T) {
	t.Parallel()
	c := telemetrytest.NewCollector(t)
	again := run.Event{Type: run.Started, At: at(2), Run: "r1", Attempt: 2}
	history := func(_ context.Context, agent, sid string) iter.Seq2[session.Fact, error] {
		return func(yield func(session.Fact, error) bool) {
			if agent != "ana" || sid != "s1" {
				yield(session.Fact{}, errors.New("no such session"))
				return
			}
			yield(session.Fact{Of: "r0", Event: run.Event{Type: run.Started, Run: "r0"}}, nil)
			for _, e := range append([]run.Event{begun(), again}, worked()...) {
				if !yield(session.Fact{Of: "r1", Event: e}, nil) {
					return
				}
			}
		}
	}
	tr, stop := traces(t, c, new(bustest.LogBuffer), history, nil)
	(&logged{tr: tr}).commit("r1", append([]run.Event{again}, worked()...)...)
	stop() // what waits is sent at the end
	if diff := cmp.Diff(drawn, telemetrytest.Tree(c.Spans()[parent[3:35]])); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// What another host did of a run that went there and came back is read from the log.
func TestSpansOfARunThatWentAway(t *testing.T) {
	t.Parallel()
	c := telemetrytest.NewCollector(t)
	all := append([]run.Event{begun()}, worked()...)
	history := func(context.Context, string, string) iter.Seq2[session.Fact, error] {
		return func(yield func(session.Fact, error) bool) {
			for _, e := range all {
				if !yield(session.Fact{Of: "r1", Event: e}, nil) {
					return
				}
			}
		}
	}
	tr, stop := traces(t, c, new(bustest.LogBuffer), history, nil)
	log := &logged{tr: tr}
	log.commit("r1", all[0])
	log.elsewhere() // all but the last three
	log.commit("r1", all[len(all)-3:]...)
	stop()
	if diff := cmp.Diff(drawn, telemetrytest.Tree(c.Spans()[parent[3:35]])); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A call shows the name of its tool when the log proves that the tool exists.
func TestSpansOfTools(t *testing.T) {
	t.Parallel()
	c := telemetrytest.NewCollector(t)
	tr, stop := traces(t, c, new(bustest.LogBuffer), nil, nil)
	called := []run.Event{begun()}
	for i, source := range []string{run.FromCorrection, run.FromEnd, run.FromRecovery, run.FromDenial, run.FromTool} {
		called = append(called, run.Event{Type: run.ToolRequested, At: at(i), Call: source, Name: source + "_tool"})
	}
	for i := 1; i < 6; i++ {
		source := called[i].Call
		called = append(called, run.Event{Type: run.ToolFinished, At: at(7), Call: source, Source: source})
	}
	(&logged{tr: tr}).commit("r1", append(called, run.Event{Type: run.Finished, At: at(8), Run: "r1"})...)
	stop()
	const want = `process plugin.inbound.web
  invoke_agent ana
    execute_tool (unknown)
    execute_tool (unknown)
    execute_tool (unknown)
    execute_tool denied_tool
    execute_tool tool_tool
`
	if diff := cmp.Diff(want, telemetrytest.Tree(c.Spans()[parent[3:35]])); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Reading a log stops as soon as it shows that the trace is not sampled.
func TestSpansThatNothingIsReadFor(t *testing.T) {
	t.Parallel()
	var read atomic.Int64
	history := func(context.Context, string, string) iter.Seq2[session.Fact, error] {
		return func(yield func(session.Fact, error) bool) {
			first := begun()
			first.Inputs[0].Trace = parent[:53] + "00"
			for _, e := range append([]run.Event{first}, worked()...) {
				if read.Add(1); !yield(session.Fact{Of: "r1", Event: e}, nil) {
					return
				}
			}
			for range 10 { // of runs that came after it
				if read.Add(1); !yield(session.Fact{Of: "r2", Event: begun()}, nil) {
					return
				}
			}
		}
	}
	c := telemetrytest.NewCollector(t)
	tr, stop := traces(t, c, new(bustest.LogBuffer), history, nil)
	(&logged{tr: tr}).commit("r1", worked()...)
	stop()
	if n := read.Load(); n != 1 || len(c.Headers()) > 0 {
		t.Errorf("%d events are read, and %d batches sent", n, len(c.Headers()))
	}
}

// Nothing is left of Run when it has returned.
func TestConnectionsAreClosed(t *testing.T) {
	t.Parallel()
	c := telemetrytest.NewCollector(t)
	tr, stop := traces(t, c, new(bustest.LogBuffer), nil, nil)
	(&logged{tr: tr}).commit("r1", append([]run.Event{begun()}, worked()...)...)
	stop()
	if len(c.Headers()) == 0 {
		t.Error("nothing was sent")
	}
	bustest.Eventually(t, "no connection is open", func() bool { return c.Open() == 0 })
}

// What was said before, as a client of a door tells it, stands in the log before the run begins.
func TestSpansAfterAHistory(t *testing.T) {
	t.Parallel()
	c := telemetrytest.NewCollector(t)
	tr, stop := traces(t, c, new(bustest.LogBuffer), nil, nil)
	(&logged{tr: tr}).commit("r1", append([]run.Event{{Type: run.MessageAdded, At: at(0)}, begun()}, worked()...)...)
	stop()
	if diff := cmp.Diff(drawn, telemetrytest.Tree(c.Spans()[parent[3:35]])); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A program that has a host in it may have put its own in the place of the default transport.
func TestSpansBesideAnotherTransport(t *testing.T) {
	before := http.DefaultTransport
	http.DefaultTransport = struct{ http.RoundTripper }{before}
	t.Cleanup(func() { http.DefaultTransport = before })
	c := telemetrytest.NewCollector(t)
	tr, stop := traces(t, c, new(bustest.LogBuffer), nil, nil)
	(&logged{tr: tr}).commit("r1", append([]run.Event{begun()}, worked()...)...)
	stop()
	if diff := cmp.Diff(drawn, telemetrytest.Tree(c.Spans()[parent[3:35]])); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestProtocols(t *testing.T) {
	t.Parallel()
	for name, variables := range map[string]map[string]string{
		"protobuf": {}, "json": {"OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"}, "gzip": {"OTEL_EXPORTER_OTLP_COMPRESSION": "gzip"},
		"json and gzip": {"OTEL_EXPORTER_OTLP_PROTOCOL": "http/json", "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			variables["OTEL_EXPORTER_OTLP_HEADERS"], variables["OTEL_BSP_SCHEDULE_DELAY"], variables["OTEL_RESOURCE_ATTRIBUTES"] = "x-key=k1", "10", "team=shop"
			c := telemetrytest.NewCollector(t)
			tr, _ := traces(t, c, new(bustest.LogBuffer), nil, variables)
			(&logged{tr: tr}).commit("r1", append([]run.Event{begun()}, worked()...)...)
			if diff := cmp.Diff(drawn, telemetrytest.Tree(wait(t, c, 6))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if h := c.Headers()[0]; h.Get("X-Key") != "k1" || !strings.HasPrefix(h.Get("User-Agent"), "OTel-OTLP-Exporter-agenthost/") {
				t.Errorf("headers: got %v", h)
			}
			if r := c.Resource(); r["team"] != "shop" || r["service.instance.id"] != "kiwi" {
				t.Errorf("resource: got %v", r)
			}
		})
	}
}

// A run whose first try its host committed nothing of begins with its second.
func TestSpansOfASecondTry(t *testing.T) {
	t.Parallel()
	c := telemetrytest.NewCollector(t)
	tr, stop := traces(t, c, new(bustest.LogBuffer), nil, nil)
	first := begun()
	first.Attempt = 2
	(&logged{tr: tr}).commit("r1", append([]run.Event{first}, worked()...)...)
	stop()
	if diff := cmp.Diff(drawn, telemetrytest.Tree(c.Spans()[parent[3:35]])); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A collector that may take a batch later is asked again; what it refuses is said, once a batch.
func TestRefusals(t *testing.T) {
	t.Parallel()
	answer := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			fmt.Fprint(w, body)
		}
	}
	t.Run("later", func(t *testing.T) {
		t.Parallel()
		c := telemetrytest.NewCollector(t, answer(503, ""), answer(429, ""))
		tr, _ := traces(t, c, new(bustest.LogBuffer), nil, map[string]string{"OTEL_BSP_SCHEDULE_DELAY": "10"})
		(&logged{tr: tr}).commit("r1", append([]run.Event{begun()}, worked()...)...)
		wait(t, c, 6)
	})
	for want, refusal := range map[string]http.HandlerFunc{
		`answers 401 Unauthorized: \"who?\"`: answer(401, "who?"), `refuses 6 spans: \"too old\"`: answer(200, `{"partialSuccess":{"rejectedSpans":"6","errorMessage":"too old"}}`),
		"answers 307": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			var log bustest.LogBuffer
			c := telemetrytest.NewCollector(t, refusal)
			tr, _ := traces(t, c, &log, nil, map[string]string{"OTEL_BSP_SCHEDULE_DELAY": "10"})
			(&logged{tr: tr}).commit("r1", append([]run.Event{begun()}, worked()...)...)
			bustest.Eventually(t, "it is logged", func() bool { return strings.Contains(log.String(), want) })
			if len(c.Headers()) != 1 {
				t.Errorf("it was asked %d times", len(c.Headers()))
			}
		})
	}
	for after, want := range map[string]int{
		"9223372037": 1, "99999999999999999999": 1, // what no duration has room for is long
		time.Now().Add(time.Hour).UTC().Format(http.TimeFormat): 1,
		"-1": 2, "soon": 2, time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat): 2,
	} {
		t.Run("later, "+after, func(t *testing.T) {
			t.Parallel()
			var log bustest.LogBuffer
			refuse := func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Retry-After", after)
				answer(429, "")(w, r)
			}
			c := telemetrytest.NewCollector(t, slices.Repeat([]http.HandlerFunc{refuse}, 1000)...)
			tr, _ := traces(t, c, &log, nil, map[string]string{"OTEL_BSP_SCHEDULE_DELAY": "10", "OTEL_EXPORTER_OTLP_TIMEOUT": "2000"})
			(&logged{tr: tr}).commit("r1", append([]run.Event{begun()}, worked()...)...)
			bustest.Eventually(t, "it is given up, and why is logged", func() bool { return strings.Contains(log.String(), "answers 429 Too Many Requests") })
			if n := len(c.Headers()); min(n, 2) != want || n > 3 {
				t.Errorf("it was asked %d times, want %d", n, want)
			}
		})
	}
	t.Run("away", func(t *testing.T) {
		t.Parallel()
		var log bustest.LogBuffer
		c := telemetrytest.NewCollector(t)
		c.Close()
		tr, _ := traces(t, c, &log, nil, map[string]string{"OTEL_BSP_SCHEDULE_DELAY": "10", "OTEL_EXPORTER_OTLP_TIMEOUT": "500"})
		(&logged{tr: tr}).commit("r1", append([]run.Event{begun()}, worked()...)...)
		bustest.Eventually(t, "it is logged", func() bool { return strings.Contains(log.String(), "connection refused") })
	})
}

// A log that cannot be read in time costs its own run the trace, when the host ends.
func TestLateRunAtTheEnd(t *testing.T) {
	t.Parallel()
	c := telemetrytest.NewCollector(t)
	history := func(ctx context.Context, _, sid string) iter.Seq2[session.Fact, error] {
		return func(yield func(session.Fact, error) bool) {
			if sid == "stuck" {
				<-ctx.Done()
				yield(session.Fact{}, ctx.Err())
				return
			}
			late := begun()
			late.Inputs[0].Trace = "00-11" + parent[5:]
			for _, e := range append([]run.Event{late}, worked()...) {
				if !yield(session.Fact{Of: "r2", Event: e}, nil) {
					return
				}
			}
		}
	}
	tr, stop := traces(t, c, new(bustest.LogBuffer), history, nil)
	tr.Committed("agent.session.ana.s2", "r2", 0, 1, worked())
	tr.Committed("agent.session.ana.stuck", "r3", 0, 2, worked())
	(&logged{tr: tr}).commit("r1", append([]run.Event{begun()}, worked()...)...)
	stop()
	spans := c.Spans()
	if n := len(spans[parent[3:35]]); n != 6 {
		t.Errorf("a run that is whole: got %d spans, want 6", n)
	}
	if n := len(spans["11"+parent[5:35]]); n != 6 {
		t.Errorf("a run that is read in time: got %d spans, want 6", n)
	}
}

// No request has more spans than it may, at the end of the host either.
func TestBatchesAreBounded(t *testing.T) {
	t.Parallel()
	var log bustest.LogBuffer
	c := telemetrytest.NewCollector(t)
	tr, err := telemetry.Open(telemetry.Options{Log: zerolog.New(&log), Getenv: func(name string) string {
		return map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": c.URL, "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "20", "OTEL_BSP_MAX_QUEUE_SIZE": "100"}[name]
	}})
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		(&logged{tr: tr}).commit("r1", append([]run.Event{begun()}, worked()...)...)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_ = tr.Run(ctx)
	if n := len(c.Spans()[parent[3:35]]); n != 600 {
		t.Errorf("got %d spans, want 600; %s", n, log.String())
	}
	if n := slices.Max(c.Batches()); n > 20 {
		t.Errorf("a request has %d spans, want 20 at most", n)
	}
}

// A run may have more spans than a request.
func TestBatchesOfALargeRun(t *testing.T) {
	t.Parallel()
	c := telemetrytest.NewCollector(t)
	tr, stop := traces(t, c, new(bustest.LogBuffer), nil, map[string]string{"OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "4"})
	for range 3 {
		(&logged{tr: tr}).commit("r1", append([]run.Event{begun()}, worked()...)...)
	}
	stop()
	if n := len(c.Spans()[parent[3:35]]); n != 18 {
		t.Errorf("got %d spans, want 18", n)
	}
	if n := slices.Max(c.Batches()); n > 4 {
		t.Errorf("a request has %d spans, want 4 at most", n)
	}
}

// A full queue holds nothing up.
func TestQueueIsBounded(t *testing.T) {
	t.Parallel()
	var log bustest.LogBuffer
	tr, err := telemetry.Open(telemetry.Options{Log: zerolog.New(&log), Getenv: func(name string) string {
		return map[string]string{"OTEL_TRACES_EXPORTER": "otlp", "OTEL_BSP_MAX_QUEUE_SIZE": "2", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "1"}[name]
	}})
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		(&logged{tr: tr}).commit("r1", append([]run.Event{begun()}, worked()...)...)
	}
	for range 10 {
		(&logged{tr: tr}).commit("r1", worked()...)
	}
	if !strings.Contains(log.String(), "the queue is full") {
		t.Errorf("got %s", log.String())
	}
	if got := tr.Begin("ana", "plugin.inbound.web", 7, at(0)); got != tr.Begin("ana", "plugin.inbound.web", 7, at(0)) || got == tr.Begin("ana", "plugin.inbound.web", 7, at(1)) || got == tr.Begin("bob", "plugin.inbound.web", 7, at(0)) || !strings.HasSuffix(got, "-01") {
		t.Errorf("a trace that begins here: got %s", got)
	}
}
