package toolcall

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"agenthost/agents"
	"agenthost/agents/internal/inflight"
	"agenthost/agents/internal/message"
	"agenthost/agents/internal/parts"
	"agenthost/agents/internal/profile"
	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/records"
	"agenthost/hooks"
	"agenthost/llm"
	"agenthost/run"
	"agenthost/session"
	"agenthost/tools"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"
)

// caller uses tools for a run of ana, as permissions say.
func caller(t *testing.T, cfg agents.Config, permissions map[string]string, own ...tools.Tool) *Caller {
	t.Helper()
	policy, err := tools.NewPolicy(permissions)
	if err != nil {
		t.Fatal(err)
	}
	peers := new(profile.Peers)
	peers.Set([]profile.Peer{{ID: "ana"}, {ID: "ben"}, {ID: "kate"}})
	box := &profile.Toolbox{Registry: tools.NewRegistry(), Own: own, Policy: policy, Validator: new(tools.Validator)}
	a := &inflight.Agent{ID: "ana", Parts: parts.New(parts.Options{Peers: peers, Hooks: hooks.New(zerolog.Nop()), MaxPayload: 1 << 20}), Work: context.Background()}
	cfg.ID = a.ID
	a.Profile.Store(profile.New(cfg, profile.Kit{Chain: new(llm.Chain), Box: box}, peers))
	r := &inflight.Run{Session: inflight.Session{Agent: a, Key: "web/dm/ann"}, ID: "r1", Journal: new(session.Log)}
	in := &bus.Inbound{From: "ann", Text: "hi"}
	r.Prepare([]*message.Item{{Input: run.Input{ID: "m1"}, Origin: message.Origin{Subject: "plugin.inbound.web", Inbound: in}}})
	return &Caller{
		Run: r, Newest: func() uint64 { return 7 },
		Uncancelled: context.WithoutCancel,
	}
}

func tool(name string, do func(ctx context.Context) (tools.Result, error)) tools.Tool {
	return tools.Tool{
		Name: name, Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`),
		Run: func(ctx context.Context, _ tools.Call) (tools.Result, error) { return do(ctx) },
	}
}

func says(text string) func(context.Context) (tools.Result, error) {
	return func(context.Context) (tools.Result, error) { return tools.Result{Text: text}, nil }
}

// A call ends with a result, a question or the reason why it was not made.
func TestUse(t *testing.T) {
	t.Parallel()
	pay := tool("pay", says("paid"))
	shadow := agents.Config{ShadowOf: "ben"}
	reads := tool("look", says("seen"))
	reads.ReadOnly = true
	tests := map[string]struct {
		cfg         agents.Config
		tool        tools.Tool
		permissions map[string]string
		call        run.Call
		result      string
		source      string
		ok          bool
		asks        string // what it waits for
	}{
		"allowed":              {tool: pay, permissions: map[string]string{"pay": "allow"}, result: "paid", ok: true},
		"only reads":           {tool: reads, result: "seen", ok: true},
		"denied":               {tool: pay, permissions: map[string]string{"pay": "deny"}, result: "not allowed: ", source: run.FromDenial},
		"approved":             {tool: pay, call: run.Call{Approved: true}, result: "paid", ok: true},
		"approved and changed": {tool: pay, call: run.Call{Approved: true, Changed: true}, result: "[the person who approved this call changed its arguments to {}]\npaid", ok: true},
		"unknown":              {tool: pay, call: run.Call{Name: "fly"}, result: `there is no tool "fly"`, source: run.FromCorrection},
		"wrong arguments":      {tool: pay, call: run.Call{Args: json.RawMessage(`{"n":"x"}`)}, result: "n", source: run.FromCorrection},
		"of a shadow":          {cfg: shadow, tool: pay, permissions: map[string]string{"pay": "allow"}, result: profile.NotRun, source: run.FromDenial},
		"a shadow may look":    {cfg: shadow, tool: reads, result: "seen", ok: true},
		"panics":               {tool: tool("pay", func(context.Context) (tools.Result, error) { panic("bug") }), call: run.Call{Approved: true}, result: "the tool broke down; its outcome is unknown"},
		"fails":                {tool: tool("pay", func(context.Context) (tools.Result, error) { return tools.Result{}, errors.New("no funds") }), call: run.Call{Approved: true}, result: "no funds"},
		"asks a person": {tool: tool("pay", func(context.Context) (tools.Result, error) {
			return tools.Result{Wait: &tools.Wait{Prompt: "Which?"}}, nil
		}), call: run.Call{Approved: true}, asks: run.ForQuestion},
		"hands on to nobody": {tool: tool("pay", func(context.Context) (tools.Result, error) {
			return tools.Result{Wait: &tools.Wait{To: "max"}}, nil
		}), call: run.Call{Approved: true}, result: `there is no agent "max"`, source: run.FromDenial},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := caller(t, tt.cfg, tt.permissions, tt.tool)
			call := tt.call
			call.ID = "c1"
			if call.Name == "" {
				call.Name = tt.tool.Name
			}
			if call.Args == nil {
				call.Args = json.RawMessage(`{}`)
			}
			round := c.NewRound([]run.Effect{{Kind: run.RunTool}})
			sig := c.Use(t.Context(), call, round.Next())
			asks := ""
			if sig.Wait != nil {
				asks = sig.Wait.For
			}
			if sig.Kind != run.ToolSettled || sig.Call != "c1" || asks != tt.asks || sig.OK != tt.ok || sig.Source != tt.source {
				t.Errorf("got %+v", sig)
			}
			if !strings.HasPrefix(sig.Result, tt.result) && !strings.Contains(sig.Result, tt.result) || tt.result == "" && sig.Result != "" {
				t.Errorf("the model is told %q, want %q", sig.Result, tt.result)
			}
		})
	}
}

// What the policy leaves to people waits for one.
func TestUseAsks(t *testing.T) {
	t.Parallel()
	js := bustest.Open(t).JS
	bustest.Provision(t, js)
	c := caller(t, agents.Config{Limits: agents.Limits{ApprovalTimeout: time.Hour}}, nil, tool("pay", says("paid")))
	c.Agent.Parts.Asks.JS, c.Agent.Parts.Asks.Reader = js, records.NewReader(js)
	call := run.Call{ID: "c1", Name: "pay", Args: json.RawMessage(`{"n":1}`)}
	sig := c.Use(t.Context(), call, c.NewRound([]run.Effect{{Kind: run.RunTool}}).Next())
	if sig.Wait == nil || sig.Wait.For != run.ForApproval || sig.Wait.Prompt != "Ana wants to use pay with n=1." || time.Until(sig.Wait.Deadline) > time.Hour {
		t.Errorf("got %+v", sig.Wait)
	}
}

// A tool has its time; one that is stopped says so.
func TestUseInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := tool("pay", func(ctx context.Context) (tools.Result, error) {
			<-ctx.Done()
			return tools.Result{}, ctx.Err()
		})
		slow.Timeout = time.Minute
		c := caller(t, agents.Config{}, nil, slow)
		use := func(ctx context.Context) string {
			return c.Use(ctx, run.Call{ID: "c1", Name: "pay", Approved: true, Args: json.RawMessage(`{}`)}, c.NewRound([]run.Effect{{Kind: run.RunTool}}).Next()).Result
		}
		if got := use(t.Context()); got != "it took too long and was stopped; its outcome is unknown" {
			t.Errorf("late: got %q", got)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if got := use(ctx); got != stopped && got != context.Canceled.Error() {
			t.Errorf("stopped: got %q", got)
		}
	})
}

// Who may be handed a task, and why not.
func TestRefuseDelegate(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		delegates []string
		chain     []string
		to, want  string
	}{
		"may":       {[]string{"ben"}, nil, "ben", ""},
		"itself":    {[]string{"*"}, nil, "ana", "itself"},
		"unknown":   {[]string{"*"}, nil, "max", `no agent "max"`},
		"not named": {[]string{"kate"}, nil, "ben", "ben is not among the agents that ana may ask"},
		"a cycle":   {[]string{"*"}, []string{"ben", "kate"}, "ben", "delegation cycle: ben → kate → ana → ben"},
		"too deep":  {[]string{"*"}, strings.Split(strings.Repeat("x", profile.MaxDepth), ""), "ben", "has passed through 8 agents"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := caller(t, agents.Config{Delegates: tt.delegates}, nil)
			c.Items[0].Origin = message.Origin{Subject: "agent.route.ana", Route: &bus.Route{Kind: bus.RouteDelegate, From: "ben", Chain: tt.chain}}
			if got := c.refuseDelegate(tt.to); tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// A preview names the agent, the tool and what it is called with.
func TestPreview(t *testing.T) {
	t.Parallel()
	c := caller(t, agents.Config{}, nil)
	plainTool, worded := tools.Tool{Name: "pay"}, tools.Tool{Name: "refund", Preview: func(context.Context, tools.Call) tools.Preview {
		return tools.Preview{Sentence: "{agent} wants to refund {amount} ({size}).", Values: map[string]string{"amount": "5 EUR. Reply approve"}, Bytes: 5, Detail: "-1\n+2"}
	}}
	for want, got := range map[string]string{
		"Ana wants to use pay.":            c.preview(t.Context(), plainTool, run.Call{}, nil, "pay {}"),
		"Ana wants to use pay with sum=1.": c.preview(t.Context(), plainTool, run.Call{}, nil, "pay sum=1"),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	got := c.preview(t.Context(), worded, run.Call{}, nil, "")
	if !strings.HasPrefix(got, `Ana wants to refund "5 EUR. Reply approve" (5 `) || !strings.HasSuffix(got, "\n-1\n+2") {
		t.Errorf("got %q", got)
	}
}

// What a server calls its tool is a name in the sentence, and no more of the sentence.
func TestPreviewNamesTheTool(t *testing.T) {
	t.Parallel()
	c := caller(t, agents.Config{}, nil)
	for name, want := range map[string]string{
		"ev.look_up":                  "Ana wants to use ev.look_up with sum=1.",
		"ev.look up":                  `Ana wants to use "ev.look up" with sum=1.`,
		"ev.suche/größe":              "Ana wants to use ev.suche/größe with sum=1.",
		"ev.x. Reply approve.\n\nOld": `Ana wants to use "ev.x. Reply approve.\n\nOld" with sum=1.`,
		"ev.\u202ex\x1b[2J\r\u200b":   `Ana wants to use "ev.\u202ex\x1b[2J\r\u200b" with sum=1.`,
		strings.Repeat("a", 100_000):  `Ana wants to use "` + strings.Repeat("a", 192) + `"… and 99,808 more characters with sum=1.`,
	} {
		tool := tools.Tool{Name: name}
		short := (tools.Policy{}).Decide(tool, []byte(`{"sum":1}`), nil).What
		if got := c.preview(t.Context(), tool, run.Call{}, nil, short); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// Several questions of a chat are numbered, and each says how it is answered.
func TestWord(t *testing.T) {
	t.Parallel()
	c := caller(t, agents.Config{}, nil)
	approval := func() *run.Wait { return &run.Wait{For: run.ForApproval, Prompt: "Ana wants to pay."} }
	question := func(options ...string) *run.Wait {
		return &run.Wait{For: run.ForQuestion, Prompt: "Which?", Options: options}
	}
	tests := map[string]struct {
		waits []*run.Wait
		want  []string
	}{
		"one approval":  {[]*run.Wait{approval()}, []string{"Ana wants to pay. Reply approve or deny."}},
		"one question":  {[]*run.Wait{question("red")}, []string{"Which?"}},
		"several lines": {[]*run.Wait{{For: run.ForApproval, Prompt: "a\nb"}}, []string{"a\nb\nReply approve or deny."}},
		"three": {
			[]*run.Wait{approval(), question("red", "blue"), question()},
			[]string{"Ana wants to pay. Reply approve 1 or deny 1.", "red 2", "3"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c.Word(tt.waits)
			for i, w := range tt.waits {
				if !strings.Contains(w.Said, tt.want[i]) || w.Newest != 7 {
					t.Errorf("got %q of %d, want %q", w.Said, w.Newest, tt.want[i])
				}
				if want := i + 1; len(tt.waits) > 1 && w.Number != want {
					t.Errorf("it has the number %d, want %d", w.Number, want)
				}
			}
		})
	}
}

// Calls that begin together ask in their order, however long each takes to know what. A
// task is handed over after that.
func TestRoundKeepsTheOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := caller(t, agents.Config{}, nil)
		round := c.NewRound([]run.Effect{{Kind: run.RunTool}, {Kind: run.Publish}, {Kind: run.RunTool}, {Kind: run.RunTool}, {Kind: run.RunTool}, {Kind: run.RunTool}})
		var order []string
		heard := make(chan string)
		for i, after := range []time.Duration{3 * time.Second, 2 * time.Second, time.Second, 4 * time.Second, 0} {
			u := round.Next()
			go func() {
				defer u.Done()
				time.Sleep(after)
				sig := run.Signal{}
				switch i {
				case 2: // the third asks nothing
				case 4:
					sig.Wait = &run.Wait{For: run.ForDelegate, Said: "a task"}
				default:
					sig.Wait = &run.Wait{For: run.ForApproval, Prompt: fmt.Sprint("call ", i)}
				}
				if sig = u.Ask(t.Context(), sig); sig.Wait != nil {
					heard <- sig.Wait.Said
				} else {
					heard <- "nothing"
				}
			}()
		}
		for range 5 {
			order = append(order, <-heard)
		}
		want := []string{"nothing", "call 0 Reply approve 1 or deny 1.", "call 1 Reply approve 2 or deny 2.", "call 3 Reply approve 3 or deny 3.", "a task"}
		if diff := cmp.Diff(want, order); diff != "" {
			t.Error(diff)
		}
	})
	if caller(t, agents.Config{}, nil).NewRound([]run.Effect{{Kind: run.Publish}}) != nil {
		t.Error("a round without calls")
	}
}
