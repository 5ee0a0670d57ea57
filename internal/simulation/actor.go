package simulation

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"agenthost/agents"
	"agenthost/agents/engine"
	"agenthost/llm"
	"agenthost/session"
	"agenthost/tools"
)

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
			if !yield(llm.Delta{Call: &llm.CallDelta{Index: i, ID: fmt.Sprint("c", i), Name: c.tool, Args: c.args}}, nil) {
				return
			}
		}
		yield(llm.Delta{Finish: llm.FinishToolCalls}, nil)
	}
}

// A wish is a tool call that a text wants.
type wish struct{ tool, args string }

// callsFor are the tool calls that a text wants.
func callsFor(text string) (calls []wish) {
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 2 {
			continue
		}
		verb, name := words[len(words)-2], words[len(words)-1]
		args := fmt.Sprintf(`{"for":%q}`, name)
		if task, ok := strings.CutPrefix(verb, taskVerb); ok {
			args = fmt.Sprintf(`{"for":%q}`, task+" "+name)
			calls = append(calls, wish{"delegate", args})
		}
		switch verb {
		case payVerb, lookVerb, signVerb:
			calls = append(calls, wish{"bill." + verb, args})
		case bothVerb:
			calls = append(calls, wish{"bill." + payVerb, args}, wish{"bill." + lookVerb, args})
		case askVerb, remindVerb:
			calls = append(calls, wish{verb, args})
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

// anyObject is the schema of arguments that are not looked at.
var anyObject = json.RawMessage(`{"type":"object"}`)

// waitTool waits for another, as wait says of what the call is for.
func waitTool(name string, wait func(what string) tools.Wait) tools.Tool {
	return tools.Tool{
		Name: name, Description: "waits for another", Schema: anyObject, ReadOnly: true, Rerun: true, Asks: true,
		Run: func(_ context.Context, call tools.Call) (tools.Result, error) {
			args := struct{ For string }{}
			if err := json.Unmarshal(call.Args, &args); err != nil {
				return tools.Result{}, err
			}
			w := wait(args.For)
			return tools.Result{Wait: &w}, nil
		},
	}
}

// taskPatience is how long an agent waits for another.
const taskPatience = 40 * time.Second

// newKit is what the agents of a host work with.
func (l *life) newKit(k *waker) engine.Kit {
	policy, err := tools.NewPolicy(map[string]string{"bill." + payVerb: "allow", "bill." + lookVerb: "allow", "bill." + signVerb: "ask", remindVerb: "allow"})
	if err != nil {
		panic(err)
	}
	box := &engine.Toolbox{
		Registry: tools.NewRegistry(tools.Static([]tools.Tool{
			l.tool("bill."+payVerb, false), l.tool("bill."+lookVerb, true), l.tool("bill."+signVerb, false), l.remindTool(k),
			waitTool("delegate", func(task string) tools.Wait { return tools.Wait{To: "eli", Prompt: task, Timeout: taskPatience} }),
			waitTool(askVerb, func(what string) tools.Wait {
				return tools.Wait{Question: true, Prompt: "red or blue for " + what + "?", Options: []string{"red", "blue"}}
			}),
		})),
		Grant: tools.GrantOf("*"), Policy: policy, Validator: &tools.Validator{},
	}
	return engine.Kit{Chain: &llm.Chain{Links: []llm.Link{{Name: "model", Provider: model{l}}}}, Box: box}
}

// config is that of an agent; ana has partitions.
func (l *life) config(id string, partitions int) agents.Config {
	cfg := agents.Config{
		ID: id, Doors: []string{}, Delegates: []string{"*"},
		Limits: agents.Limits{Concurrency: l.w.plan.Slots, ApprovalTimeout: l.w.plan.Patience},
	}
	if id != "eli" {
		cfg.Channels = []agents.Binding{{Channel: id, Queue: session.Queue(queues[id]), Debounce: debounce}}
	}
	if id == "ana" {
		cfg.Partitions = partitions
	}
	return cfg
}

// runtimes are the agents.
func (l *life) runtimes(parts *engine.Parts) (list []*engine.Runtime) {
	var peers []engine.Peer
	for _, id := range slices.Sorted(maps.Keys(queues)) {
		if !l.w.plan.has(id) {
			continue
		}
		peers = append(peers, engine.Peer{ID: id})
		list = append(list, engine.New(l.config(id, l.w.division.partitions[l.host]), l.kit, parts))
	}
	parts.Peers.Set(peers)
	return list
}

// has reports whether anything of the plan is for an agent.
func (p Plan) has(agent string) bool {
	if agent == "ana" && p.Beats {
		return true
	}
	return slices.ContainsFunc(p.Inputs, func(in Input) bool {
		return in.Agent == agent || agent == "eli" && strings.HasPrefix(in.Text, taskVerb)
	}) || slices.ContainsFunc(p.Schedules, func(s Schedule) bool { return s.Agent == agent })
}
