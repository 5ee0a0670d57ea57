package host_test

import (
	"context"
	"encoding/json"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agenthost/bus"
	"agenthost/client"
	"agenthost/hooks"
	"agenthost/host"
	"agenthost/host/hosttest"
	"agenthost/llm"
	"agenthost/tools"

	"github.com/rs/zerolog"
)

// A clerk asks a tool for what it was asked, and says what it answers.
type clerk struct{ model string }

func (c clerk) Stream(_ context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		last := req.Messages[len(req.Messages)-1]
		if last.Role == llm.User && last.Text() == "provider" {
			panic("of a provider")
		}
		if last.Role == llm.User {
			args, _ := json.Marshal(map[string]string{"day": last.Text()})
			_ = yield(llm.Delta{Call: &llm.CallDelta{ID: "1", Name: "opening_hours", Args: string(args)}}, nil) &&
				yield(llm.Delta{Finish: llm.FinishToolCalls}, nil)
			return
		}
		_ = yield(llm.Delta{Text: c.model + " says: " + last.Parts[0].Text}, nil) && yield(llm.Delta{Finish: llm.FinishStop}, nil)
	}
}

type openingDay struct {
	Day string `json:"day" jsonschema:"a day of the week"`
}

func openingHours(_ context.Context, _ tools.Call, in openingDay) (string, error) {
	if in.Day == "tool" {
		panic("of a tool")
	}
	return "open on " + in.Day, nil
}

// polite replaces a word in a message.
func polite(_ context.Context, call hooks.Call) (hooks.Outcome, error) {
	if strings.Contains(string(call.Args["message"]), `"hook"`) {
		panic("of a hook")
	}
	text := strings.ReplaceAll(string(call.Args["message"]), "darn ", "")
	return hooks.Outcome{Action: hooks.Override, Args: hooks.Args{"message": json.RawMessage(text)}}, nil
}

func shopOptions(t *testing.T) host.Options {
	return host.Options{
		Log: zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.InfoLevel),
		Tools: []tools.Tool{
			tools.Typed(tools.Tool{Name: "opening_hours", Description: "When the shop is open.", ReadOnly: true}, openingHours),
		},
		Providers: map[string]host.ProviderFunc{
			"clerk":  func(c llm.Config) (llm.Provider, error) { return clerk{c.Model}, nil },
			"broken": func(llm.Config) (llm.Provider, error) { panic("oh") },
			"absent": func(llm.Config) (llm.Provider, error) { return nil, nil },
		},
		Hooks: []hooks.Hook{{Point: hooks.BeforeMessage, Name: "polite", Handler: polite}},
	}
}

const shopFile = `
nats: {embedded: {store: ./data, listen: ""}}
http: {listen: "127.0.0.1:0"}
models:
  main: {provider: clerk, model: c1}
  broken: {provider: broken}
  absent: {provider: absent}
agents:
  - {id: ana, model: main, tools: [opening_hours], channels: [web]}
  - {id: bad, model: broken, channels: [bad]}
  - {id: nil, model: absent, channels: [nil]}
`

// opened is a host of a program with tools, providers and hooks of its own.
func opened(t *testing.T, file string) (*host.Host, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "agenthost.yaml")
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	h, err := host.Open(path, shopOptions(t))
	if err != nil {
		t.Fatal(err)
	}
	hosttest.Serve(t, h)
	return h, path
}

func TestHostServesWhatItsProgramAdds(t *testing.T) {
	t.Parallel()
	h, _ := opened(t, shopFile)
	nc := h.Bus().NC
	sub, err := nc.SubscribeSync("plugin.outbound.web")
	if err != nil {
		t.Fatal(err)
	}
	if err := nc.Publish("plugin.inbound.web", []byte("darn Monday")); err != nil {
		t.Fatal(err)
	}
	if out := next(t, sub); out.Text != "c1 says: open on Monday" {
		t.Errorf("got %+v", out)
	}
}

// A provider that cannot be made is a fault of its agents alone, and says why.
func TestProviderOfTheProgramThatFails(t *testing.T) {
	t.Parallel()
	h, _ := opened(t, shopFile)
	msg, err := h.Bus().NC.RequestWithContext(t.Context(), client.StatusSubject, nil)
	if err != nil {
		t.Fatal(err)
	}
	status, err := client.ReadStatus(msg.Data)
	if err != nil {
		t.Fatal(err)
	}
	reasons := map[string]string{
		"ana": "",
		"bad": `model "broken": provider "broken": panic: oh`,
		"nil": `model "absent": provider "absent": its function made none`,
	}
	for _, a := range status.Agents {
		if a.Reason != reasons[a.ID] {
			t.Errorf("%s: got %q, want %q", a.ID, a.Reason, reasons[a.ID])
		}
	}
}

// The names that a program adds are known when the file is read again.
func TestReloadKnowsWhatTheProgramAdds(t *testing.T) {
	t.Parallel()
	h, path := opened(t, shopFile)
	changed := strings.Replace(shopFile, "model: c1", "model: c2", 1)
	if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	r := h.Reload(t.Context(), host.ByCommand)
	if len(r.Refused) > 0 || r.Error != "" {
		t.Fatalf("got %+v", r)
	}
	nc := h.Bus().NC
	sub, err := nc.SubscribeSync("plugin.outbound.web")
	if err != nil {
		t.Fatal(err)
	}
	data, _ := json.Marshal(bus.Inbound{ID: "1", From: "7", Text: "Monday"})
	if err := nc.Publish("plugin.inbound.web", data); err != nil {
		t.Fatal(err)
	}
	if out := next(t, sub); out.Text != "c2 says: open on Monday" {
		t.Errorf("got %+v", out)
	}
}

func TestWhatAProgramAddsIsChecked(t *testing.T) {
	t.Parallel()
	runs := func(context.Context, tools.Call) (tools.Result, error) { return tools.Result{}, nil }
	handler := func(context.Context, hooks.Call) (hooks.Outcome, error) { return hooks.Outcome{}, nil }
	tests := map[string]struct {
		opt  host.Options
		want string
	}{
		"tool without a name":        {host.Options{Tools: []tools.Tool{{Run: runs}}}, `tool "" of the program: want a name`},
		"tool with a space":          {host.Options{Tools: []tools.Tool{{Name: "a b", Run: runs}}}, `tool "a b" of the program: want a name`},
		"tool that does nothing":     {host.Options{Tools: []tools.Tool{{Name: "a"}}}, "Run is nil"},
		"tool with a wrong schema":   {host.Options{Tools: []tools.Tool{{Name: "a", Run: runs, Schema: json.RawMessage(`{"type":7}`)}}}, `tool "a" of the program: schema: `},
		"tool of a taken name":       {host.Options{Tools: []tools.Tool{{Name: "now", Run: runs}}}, `tool "now" of the program: the host has one of that name`},
		"tool twice":                 {host.Options{Tools: []tools.Tool{{Name: "a", Run: runs}, {Name: "a", Run: runs}}}, `tool "a" of the program: it is there twice`},
		"provider without function":  {host.Options{Providers: map[string]host.ProviderFunc{"own": nil}}, `provider "own" of the program: its function is nil`},
		"provider of a taken name":   {host.Options{Providers: map[string]host.ProviderFunc{"echo": func(llm.Config) (llm.Provider, error) { return clerk{}, nil }}}, `provider "echo" of the program: the host has one of that name`},
		"hook at an unknown point":   {host.Options{Hooks: []hooks.Hook{{Point: "before_lunch", Name: "x", Handler: handler}}}, `hook "x" of the program: no point has the name "before_lunch"`},
		"hook without a handler":     {host.Options{Hooks: []hooks.Hook{{Point: hooks.OnError, Name: "x"}}}, `hook "x" of the program: Handler is nil`},
		"hook with negative timeout": {host.Options{Hooks: []hooks.Hook{{Point: hooks.OnError, Name: "x", Handler: handler, Options: hooks.Options{Timeout: -1}}}}, `hook "x" of the program: negative timeout`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := host.Open("nowhere.yaml", tt.opt); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Open: got %v, want %s", err, tt.want)
			}
			tt.opt.Config = demo(t)
			if err := host.New(tt.opt).Run(t.Context()); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Run: got %v, want %s", err, tt.want)
			}
		})
	}
}

func TestOpenWithoutAFile(t *testing.T) {
	t.Parallel()
	if _, err := host.Open("nowhere.yaml", host.Options{}); err == nil || !strings.Contains(err.Error(), "nowhere.yaml: no such file") {
		t.Errorf("got %v", err)
	}
}

// A fault of the program's own parts is one of the run: the next is answered.
func TestPanicsOfWhatTheProgramAdds(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		day, want, kind string
	}{
		"tool":     {"tool", "c1 says: the tool broke down; its outcome is unknown", bus.KindReply},
		"provider": {"provider", "", bus.KindError},
		"hook":     {"hook", "c1 says: open on hook", bus.KindReply},
	}
	h, _ := opened(t, shopFile)
	nc := h.Bus().NC
	sub, err := nc.SubscribeSync("plugin.outbound.web")
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range tests {
		for _, day := range []string{tt.day, "Monday"} {
			if err := nc.Publish("plugin.inbound.web", []byte(day)); err != nil {
				t.Fatal(err)
			}
			out := next(t, sub)
			want, kind := tt.want, tt.kind
			if day == "Monday" {
				want, kind = "c1 says: open on Monday", bus.KindReply
			}
			if out.Kind != kind || want != "" && out.Text != want || out.Text == "" {
				t.Errorf("panic of %s, %q: got %+v, want %s %q", name, day, out, kind, want)
			}
		}
	}
}
