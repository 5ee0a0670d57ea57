package hooks_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
	"github.com/rs/zerolog"

	"agenthost/bus/bustest"
	"agenthost/hooks"
)

// connect starts a server that lives in the test and connects to it.
func connect(t *testing.T) *nats.Conn {
	t.Helper()
	s, err := server.NewServer(&server.Options{DontListen: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("server is not ready")
	}
	nc, err := nats.Connect("", nats.InProcessServer(s))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// respond answers every request on subject and keeps the last one.
func respond(t *testing.T, nc *nats.Conn, subject, answer string) (asked <-chan string) {
	t.Helper()
	requests := make(chan string, 16)
	_, err := nc.Subscribe(subject, func(m *nats.Msg) {
		requests <- string(m.Data)
		if err := m.Respond([]byte(answer)); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return requests
}

func TestRemote(t *testing.T) {
	nc := connect(t)
	tests := map[string]struct {
		answer string
		want   hooks.Outcome
		logged string
	}{
		"continue":       {`{"action":"continue"}`, hooks.Outcome{Action: hooks.Continue, Args: hooks.Args{"message": raw(`{"text":"hi"}`)}}, ""},
		"override":       {`{"action":"override","args":{"message":{"text":"ho"}}}`, hooks.Outcome{Action: hooks.Override, Args: hooks.Args{"message": raw(`{"text":"ho"}`)}}, ""},
		"abort":          {`{"action":"abort","reason":"No."}`, hooks.Outcome{Action: hooks.Abort, Reason: "No."}, ""},
		"not JSON":       {`sure`, hooks.Outcome{Action: hooks.Continue, Args: hooks.Args{"message": raw(`{"text":"hi"}`)}}, "decode answer"},
		"no action":      {`{}`, hooks.Outcome{Action: hooks.Continue, Args: hooks.Args{"message": raw(`{"text":"hi"}`)}}, "answer without an action"},
		"unknown action": {`{"action":"maybe"}`, hooks.Outcome{Action: hooks.Continue, Args: hooks.Args{"message": raw(`{"text":"hi"}`)}}, "unknown action"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var log bustest.LogBuffer
			r := hooks.New(zerolog.New(&log))
			subject := "acme." + strings.ReplaceAll(name, " ", "-")
			asked := respond(t, nc, subject, tt.answer)
			remove, err := r.AddRemote(nc, nil, []hooks.Config{{On: hooks.BeforeMessage, Subject: subject}})
			if err != nil {
				t.Fatal(err)
			}
			call := hooks.Call{
				Hook: hooks.BeforeMessage, Agent: "ana", Session: "web/dm/bo", Run: "r1",
				Args: hooks.Args{"message": raw(`{"text":"hi"}`)},
			}
			if diff := cmp.Diff(tt.want, r.Fire(t.Context(), call), withoutActs); diff != "" {
				t.Errorf("outcome (-want +got):\n%s", diff)
			}
			want := `{"hook":"before_message","agent":"ana","session":"web/dm/bo","run":"r1","args":{"message":{"text":"hi"}}}`
			if got := <-asked; got != want {
				t.Errorf("request:\ngot  %s\nwant %s", got, want)
			}
			if !strings.Contains(log.String(), tt.logged) || (tt.logged == "") != (log.String() == "") {
				t.Errorf("log %q, want it to hold %q", log.String(), tt.logged)
			}
			remove()
			if r.Has(hooks.BeforeMessage) {
				t.Error("the remote hook is still there after remove")
			}
		})
	}
}

func TestRemoteCarriesTheTrace(t *testing.T) {
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	nc := connect(t)
	headers := make(chan nats.Header, 1)
	if _, err := nc.Subscribe("acme.trace", func(m *nats.Msg) {
		headers <- m.Header
		if err := m.Respond([]byte(`{"action":"continue"}`)); err != nil {
			t.Error(err)
		}
	}); err != nil {
		t.Fatal(err)
	}
	handler := hooks.Remote(nc, nil, "acme.trace")
	if _, err := handler(t.Context(), hooks.Call{Hook: hooks.BeforeMessage, TraceParent: parent, TraceState: "a=b"}); err != nil {
		t.Fatal(err)
	}
	if h := <-headers; h.Get("traceparent") != parent || h.Get("tracestate") != "a=b" {
		t.Errorf("got %v", h)
	}
}

func TestRemoteErrors(t *testing.T) {
	nc := connect(t)
	service, err := micro.AddService(nc, micro.Config{Name: "moderator", Version: "1.0.0"})
	if err != nil {
		t.Fatal(err)
	}
	refuse := micro.HandlerFunc(func(r micro.Request) { _ = r.Error("429", "too busy", nil) })
	if err := service.AddEndpoint("moderate", refuse, micro.WithEndpointSubject("acme.busy")); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		subject string
		args    hooks.Args
		want    string
	}{
		"nobody there":  {"acme.nobody", nil, "no responders"},
		"service error": {"acme.busy", nil, "service error 429: too busy"},
		"bad arguments": {"acme.busy", hooks.Args{"x": raw(`{`)}, "json: error"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := hooks.Remote(nc, nil, tt.subject)(t.Context(), hooks.Call{Hook: hooks.OnError, Args: tt.args})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got error %v, want one with %q", err, tt.want)
			}
		})
	}
}

// TestRemoteTimeout has a responder that never answers: the timeout is what
// ends the wait, and fail: closed what becomes of it.
func TestRemoteTimeout(t *testing.T) {
	nc := connect(t)
	if _, err := nc.Subscribe("acme.silent", func(*nats.Msg) {}); err != nil {
		t.Fatal(err)
	}
	var log bustest.LogBuffer
	r := hooks.New(zerolog.New(&log))
	silent := hooks.Config{On: hooks.BeforeMessage, Subject: "acme.silent", Timeout: time.Millisecond, Fail: hooks.FailClosed}
	if _, err := r.AddRemote(nc, nil, []hooks.Config{silent}); err != nil {
		t.Fatal(err)
	}
	if out := r.Fire(t.Context(), hooks.Call{Hook: hooks.BeforeMessage}); out.Action != hooks.Abort {
		t.Errorf("got %q, want abort", out.Action)
	}
	if !strings.Contains(log.String(), "no answer within 1ms") {
		t.Errorf("log %s", log.String())
	}
}

func TestAddRemoteRefuses(t *testing.T) {
	good := hooks.Config{On: hooks.OnError, Subject: "acme.errors"}
	tests := map[string]struct {
		config hooks.Config
		want   string
	}{
		"point":      {hooks.Config{On: "sometimes", Subject: "a"}, `add remote hook on "sometimes": on: want one of before_message, after_message, before_model_call, after_model_call, before_tool_call, after_tool_call, on_session_start, on_session_end, on_error`},
		"no subject": {hooks.Config{On: hooks.OnError}, `add remote hook on "on_error": subject: want a NATS subject without wildcards, such as acme.moderate`},
		"wildcard":   {hooks.Config{On: hooks.OnError, Subject: "acme.>"}, `add remote hook on "on_error": subject: want a NATS subject without wildcards, such as acme.moderate`},
		"star":       {hooks.Config{On: hooks.OnError, Subject: "acme.*"}, `add remote hook on "on_error": subject: want a NATS subject without wildcards, such as acme.moderate`},
		"space":      {hooks.Config{On: hooks.OnError, Subject: "acme. moderate"}, `add remote hook on "on_error": subject: want a NATS subject without wildcards, such as acme.moderate`},
		"new line":   {hooks.Config{On: hooks.OnError, Subject: "acme\r\nPUB x 0"}, `add remote hook on "on_error": subject: want a NATS subject without wildcards, such as acme.moderate`},
		"delete":     {hooks.Config{On: hooks.OnError, Subject: "acme.\x7f"}, `add remote hook on "on_error": subject: want a NATS subject without wildcards, such as acme.moderate`},
		"timeout":    {hooks.Config{On: hooks.OnError, Subject: "a", Timeout: -1}, `add remote hook on "on_error": timeout: want a duration above 0, such as 500ms`},
		"fail":       {hooks.Config{On: hooks.OnError, Subject: "a", Fail: "maybe"}, `add remote hook on "on_error": fail: want open or closed`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := hooks.New(zerolog.Nop())
			_, err := r.AddRemote(nil, nil, []hooks.Config{good, tt.config})
			if err == nil || err.Error() != tt.want {
				t.Errorf("got error %v, want %s", err, tt.want)
			}
			if r.Has(hooks.OnError) {
				t.Error("a hook before the bad one was kept")
			}
		})
	}
}
