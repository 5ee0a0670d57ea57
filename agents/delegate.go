package agents

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"agenthost/agents/internal/ask"
	"agenthost/bus"
	"agenthost/llm"
	"agenthost/run"
	"agenthost/session"
	"agenthost/tools"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"
)

// maxDepth is how many agents a task may pass through on its way to the one
// that does it: so many may wait for it.
const maxDepth = 8

// waitFor turns what a tool waits for into what the machine waits for.
func (t *runner) waitFor(call run.Call, w tools.Wait) run.Signal {
	wait := &run.Wait{For: run.ForQuestion, Prompt: w.Prompt, Options: w.Options, ID: ask.NewToken()}
	wait.Deadline = time.Now().Add(cmp.Or(w.Timeout, t.p.cfg.Limits.ApprovalTimeout))
	if w.To != "" {
		if why := t.refuseDelegate(w.To); why != "" {
			return run.Signal{Result: why, Source: run.FromDenial}
		}
		wait.For, wait.To = run.ForDelegate, w.To
		wait.CorrelationID = t.c.waitID(t.id, run.Call{Wait: wait.ID})
		wait.Context = w.Context
		wait.Deadline = ask.Deadline(time.Now().Add(cmp.Or(w.Timeout, t.p.cfg.Limits.RunTimeout)))
	}
	if w.Default != "" {
		t.fallback(call.ID, w.Default)
	}
	return run.Signal{Wait: wait}
}

func (t *runner) fallback(call, answer string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.fallbacks == nil {
		t.fallbacks = map[string]string{}
	}
	t.fallbacks[call] = answer
}

// refuseDelegate says in a sentence why the task cannot go to that agent; empty
// when it can.
func (t *runner) refuseDelegate(to string) string {
	self, chain := t.c.r.id, t.chain()
	switch {
	case to == self:
		return "an agent cannot hand work to itself"
	case !t.c.r.parts.Peers.has(to):
		return fmt.Sprintf("there is no agent %q", to)
	case !allows(t.p.cfg.Delegates, to):
		return fmt.Sprintf("%s is not among the agents that %s may ask", to, self)
	case slices.Contains(chain, to):
		return "delegation cycle: " + strings.Join(append(slices.Clone(chain), to), " → ")
	case len(chain) > maxDepth:
		return fmt.Sprintf("this task has passed through %d agents, which is the most", maxDepth)
	}
	return ""
}

func allows(list []string, id string) bool {
	return slices.Contains(list, id) || slices.Contains(list, "*")
}

// chain are the agents that this run works for, and its own at the end.
func (t *runner) chain() []string {
	var chain []string
	if o, err := t.origin(); err == nil && o.route != nil {
		chain = slices.Clone(o.route.Chain)
	}
	return append(chain, t.c.r.id)
}

// person is where the person is whose message led to this run, if one did.
func (t *runner) person() *bus.Origin {
	o, err := t.origin()
	if err != nil {
		return nil
	}
	if o.route != nil {
		return o.route.Origin
	}
	return &bus.Origin{
		Agent: t.c.r.id, Session: string(t.c.key),
		Subject: o.outbound(),
		To:      sender(o.inbound), Chat: o.inbound.Chat, Thread: o.inbound.Thread,
		ReplyTo: t.last().ID,
	}
}

// handOver publishes a task for another agent. The same task has the same id,
// so that it is worked on once.
func (t *runner) handOver(ctx context.Context, w Waiting, brief json.RawMessage) error {
	task := bus.Route{
		ID: w.ID, Kind: bus.RouteDelegate, From: w.Agent, CorrelationID: w.ID, Text: w.Prompt, Context: brief,
		ReplyTo: bus.RoutePrefix + w.Agent, Chain: t.chain(), Deadline: w.Deadline, Origin: w.Origin,
	}
	msg, err := bus.NewMessage(bus.RoutePrefix+w.To, task)
	if err != nil {
		return err
	}
	msg.Header.Set(nats.MsgIdHdr, w.ID)
	msg.Header.Set(bus.SessionKeyHeader, w.Session)
	t.trace.Set(msg.Header)
	if _, err := t.c.r.parts.Publisher.PublishWait(ctx, msg); err != nil {
		return fmt.Errorf("hand a task to %s: %w", w.To, err)
	}
	return nil
}

// recall tells the agent that works on a call that nobody waits for it any
// more. It may be done already.
func (t *runner) recall(call run.Call) {
	id := t.c.waitID(t.id, call)
	msg, err := StopMessageBy(bus.DoorAgent, call.To, session.Route(t.c.r.id, id), t.c.r.id, "Whoever asked for this has stopped it.", "")
	if err != nil {
		t.c.log().Error().Err(err).Msg("encode a recall")
		return
	}
	t.trace.Set(msg.Header)
	t.c.r.parts.Publisher.Publish(msg, func(_ uint64, _ bool, err error) {
		if err != nil {
			t.c.log().Warn().Err(err).Str("agent", call.To).Msg("recall a task")
		}
	})
}

// stopHash stands in the place of a call in the correlation id of an order to
// stop.
const stopHash = "stop-the-run"

// StopMessage is the order to stop the run of a session, under way or waiting.
// Whoever serves the agent carries it out; replyTo, when it is not empty, is
// told what became of it.
func StopMessage(agent string, key session.Key, by, reason, replyTo string) (*nats.Msg, error) {
	return StopMessageBy(bus.DoorAPI, agent, key, by, reason, replyTo)
}

// StopMessageBy is StopMessage by another door. A host takes it only when it is signed
// by a signing.Signer.
func StopMessageBy(door, agent string, key session.Key, by, reason, replyTo string) (*nats.Msg, error) {
	order := bus.Route{
		ID: nuid.Next(), Kind: bus.RouteResult, From: by, Text: reason, ReplyTo: replyTo, Door: door,
		CorrelationID: agent + "." + session.SID(agent, key) + "." + stopHash,
	}
	msg, err := bus.NewMessage(bus.RoutePrefix+agent, order)
	if err != nil {
		return nil, err
	}
	msg.Header.Set(nats.MsgIdHdr, order.ID)
	msg.Header.Set(bus.SessionKeyHeader, string(key))
	return msg, nil
}

// AnswerMessage is the answer to a call that waits, by another door than its
// chat.
func AnswerMessage(w Waiting, by, text, scope, replyTo string) (*nats.Msg, error) {
	return AnswerMessageBy(bus.DoorAPI, w, by, text, scope, replyTo)
}

// AnswerMessageBy is AnswerMessage by another door. A host takes it only when it is
// signed by a signing.Signer.
func AnswerMessageBy(door string, w Waiting, by, text, scope, replyTo string) (*nats.Msg, error) {
	return w.Answer(bus.Route{ID: nuid.Next(), From: by, Text: text, Scope: scope, ReplyTo: replyTo, Door: door})
}

// WithArgs is an answer that approves a call with other arguments.
func WithArgs(answer *nats.Msg, args json.RawMessage) (*nats.Msg, error) {
	route := bus.Route{}
	err := json.Unmarshal(answer.Data, &route)
	if err == nil {
		route.Args = args
		answer.Data, err = json.Marshal(route)
	}
	return answer, err
}

// refuseTask says why this agent does not take a task; nil when it does.
func (r *Runtime) refuseTask(task *bus.Route) *run.Error {
	deny := func(format string, args ...any) *run.Error {
		return &run.Error{Code: llm.CodeToolDenied, Message: fmt.Sprintf(format, args...)}
	}
	accepts := r.now().cfg.Accepts
	switch {
	case r.shadow():
		return r.ofShadow()
	case len(accepts) > 0 && !accepted(accepts, task):
		return deny("%s does not take work from %q.", r.id, task.From)
	case slices.Contains(task.Chain, r.id):
		return deny("delegation cycle: %s already waits for this.", r.id)
	case len(task.Chain) > maxDepth:
		return deny("This task has passed through too many agents.")
	case !task.Deadline.IsZero() && time.Now().After(task.Deadline):
		return &run.Error{Code: llm.CodeRunTimeout, Message: "The time for this task was over before it began."}
	}
	return nil
}

// accepted reports whether an agent that accepts the work of some takes a task. Among
// agents its sender counts, which a host has signed. A program may give work to each
// agent that NATS lets it publish to, but not under the name of one that is accepted;
// so may the operator, whose tasks come through a door.
func accepted(accepts []string, task *bus.Route) bool {
	if name, program := strings.CutPrefix(task.From, bus.ProgramPrefix); program {
		return !slices.Contains(accepts, name)
	}
	return task.From == "" || task.Door != "" || allows(accepts, task.From)
}

// peers tells a model which agents it can ask for what.
func peers(cfg Config, box *Toolbox, parts *Parts) string {
	if len(cfg.Delegates) == 0 || !box.Grant.Allows("delegate") {
		return ""
	}
	b := strings.Builder{}
	for _, peer := range parts.Peers.all() {
		if peer.ID != cfg.ID && allows(cfg.Delegates, peer.ID) && peer.takesFrom(cfg.ID) {
			fmt.Fprintf(&b, "\n- %s: %s", peer.ID, orElse(peer.Description, "no description"))
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "You can hand work to these agents with the tool delegate:" + b.String()
}
