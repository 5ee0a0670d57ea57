package simulation

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"

	"agenthost/agents"
	"agenthost/agents/engine"
	"agenthost/llm"
	"agenthost/session"
	"agenthost/tools"
)

// A gate is where the code of a host waits for something outside that is not NATS: for
// a model or a tool. The scheduler opens it.
type gate struct {
	life  *life
	label string
	act   func() // what happens outside when it opens; it may be nil
	open  chan struct{}
}

// gates are those with a goroutine waiting.
type gates struct {
	mu   sync.Mutex
	list []*gate
	wake chan struct{}
}

// pass waits until the scheduler lets the caller through.
func (g *gates) pass(ctx context.Context, l *life, label string, act func()) error {
	at := &gate{l, label, act, make(chan struct{})}
	g.mu.Lock()
	g.list = append(g.list, at)
	g.mu.Unlock()
	select {
	case g.wake <- struct{}{}:
	default:
	}
	select {
	case <-at.open:
		return nil
	case <-ctx.Done():
		g.remove(at)
		return ctx.Err()
	}
}

func (g *gates) remove(at *gate) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.list = slices.DeleteFunc(g.list, func(other *gate) bool { return other == at })
}

// waiting are the gates of hosts that live.
func (g *gates) waiting() []*gate {
	g.mu.Lock()
	defer g.mu.Unlock()
	list := slices.DeleteFunc(slices.Clone(g.list), func(at *gate) bool { return at.life.dead.Load() })
	slices.SortStableFunc(list, func(a, b *gate) int { return strings.Compare(a.life.name+a.label, b.life.name+b.label) })
	return list
}

// A model does what the person says: say, pay, look or both. Then it repeats their words.
type model struct{ life *life }

func (m model) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		text := req.LastText()
		if err := m.life.w.gates.pass(ctx, m.life, "model "+req.Session+" "+text, nil); err != nil {
			yield(llm.Delta{}, err)
			return
		}
		if req.Messages[len(req.Messages)-1].Role == llm.Tool {
			_ = yield(llm.Delta{Text: text}, nil) && yield(llm.Delta{Finish: llm.FinishStop}, nil)
			return
		}
		calls := callsFor(text)
		if len(calls) == 0 {
			_ = yield(llm.Delta{Text: text}, nil) && yield(llm.Delta{Finish: llm.FinishStop}, nil)
			return
		}
		for i, c := range calls {
			if !yield(llm.Delta{Call: &llm.CallDelta{Index: i, ID: fmt.Sprint("c", i), Name: c[0], Args: fmt.Sprintf(`{"for":%q}`, c[1])}}, nil) {
				return
			}
		}
		yield(llm.Delta{Finish: llm.FinishToolCalls}, nil)
	}
}

// callsFor are the tool calls, each a name and what it is for, that a text wants.
func callsFor(text string) (calls [][2]string) {
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 2 {
			continue
		}
		what, name := words[len(words)-2], words[len(words)-1]
		if what == "pay" || what == "both" {
			calls = append(calls, [2]string{"bill.pay", name})
		}
		if what == "look" || what == "both" {
			calls = append(calls, [2]string{"bill.look", name})
		}
	}
	return calls
}

// effects are what tools have done: it outlives every host.
type effects struct {
	byCall    map[string]int
	byPurpose map[string]int
}

// tool is one with an effect, which happens when the scheduler says so, and whose result
// comes when it says so.
func (l *life) tool(name string, again bool) tools.Tool {
	return tools.Tool{
		Name: name, Description: "has an effect", Schema: json.RawMessage(`{"type":"object"}`), ReadOnly: true, Rerun: again,
		Run: func(ctx context.Context, call tools.Call) (tools.Result, error) {
			label := name + " " + string(call.Args)
			effect := func() {
				l.w.effects.byCall[call.ID]++
				l.w.effects.byPurpose[label]++
			}
			if err := l.w.gates.pass(ctx, l, "begin "+label, effect); err != nil {
				return tools.Result{}, err
			}
			if err := l.w.gates.pass(ctx, l, "end "+label, nil); err != nil {
				return tools.Result{}, err
			}
			return tools.Result{Text: "done"}, nil
		},
	}
}

// runtimes are the agents.
func (l *life) runtimes(parts *engine.Parts) (list []*engine.Runtime) {
	policy, err := tools.NewPolicy(map[string]string{"bill.*": "allow"})
	if err != nil {
		panic(err)
	}
	var peers []engine.Peer
	for _, id := range []string{"ana", "bob", "cyd", "dan"} {
		if !slices.ContainsFunc(l.w.plan.Inputs, func(in Input) bool { return in.Agent == id }) {
			continue
		}
		peers = append(peers, engine.Peer{ID: id})
		cfg := agents.Config{
			ID: id, Channels: []agents.Binding{{Channel: id, Queue: session.Queue(queues[id]), Debounce: debounce}}, Doors: []string{},
			Limits: agents.Limits{Concurrency: l.w.plan.Slots},
		}
		box := &engine.Toolbox{
			Registry: tools.NewRegistry(tools.Static([]tools.Tool{l.tool("bill.pay", false), l.tool("bill.look", true)})),
			Grant:    tools.GrantOf("*"), Policy: policy, Validator: &tools.Validator{},
		}
		chain := &llm.Chain{Links: []llm.Link{{Name: "model", Provider: model{l}}}}
		list = append(list, engine.New(cfg, engine.Kit{Chain: chain, Box: box}, parts))
	}
	parts.Peers.Set(peers)
	return list
}
