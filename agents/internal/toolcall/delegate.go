package toolcall

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"agenthost/agents"
	"agenthost/agents/internal/ask"
	"agenthost/agents/internal/inflight"
	"agenthost/agents/internal/profile"
	"agenthost/bus"
	"agenthost/run"
	"agenthost/session"
	"agenthost/tools"

	"github.com/nats-io/nats.go"
)

// refuseDelegate says in a sentence why the task cannot go to that agent; empty
// when it can.
func (t *Caller) refuseDelegate(to string) string {
	self, chain := t.Agent.ID, t.Chain()
	switch {
	case to == self:
		return "an agent cannot hand work to itself"
	case !t.Agent.Parts.Peers.Has(to):
		return fmt.Sprintf("there is no agent %q", to)
	case !profile.Allows(t.Profile.Config.Delegates, to):
		return fmt.Sprintf("%s is not among the agents that %s may ask", to, self)
	case slices.Contains(chain, to):
		return "delegation cycle: " + strings.Join(append(slices.Clone(chain), to), " → ")
	case len(chain) > profile.MaxDepth:
		return fmt.Sprintf("this task has passed through %d agents, which is the most", profile.MaxDepth)
	}
	return ""
}

// waitForAgent has a call wait for the result of another agent. Each call of a round waits by
// itself: delegates work side by side, and one that brings no result in time is an error of
// its call alone. It waits no longer than the agent that has asked for this run.
func (t *Caller) waitForAgent(wait *run.Wait, w tools.Wait) {
	wait.For, wait.To = run.ForDelegate, w.To
	wait.CorrelationID = t.WaitID(t.ID, run.Call{Wait: wait.ID})
	wait.Deadline = inflight.Earlier(ask.Deadline(time.Now().Add(cmp.Or(w.Timeout, t.Profile.Config.Limits.RunTimeout))), t.Deadline())
}

// handOver publishes a task for another agent. The same task has the same id,
// so that it is worked on once.
func (t *Caller) handOver(ctx context.Context, w agents.Waiting, brief json.RawMessage) error {
	msg, err := t.task(w, brief)
	if err != nil {
		return err
	}
	if _, err := t.Agent.Parts.Publisher.PublishWait(ctx, msg); err != nil {
		return fmt.Errorf("hand a task to %s: %w", w.To, err)
	}
	return nil
}

// task is the message with a task for another agent. A route holds no NUL.
func (t *Caller) task(w agents.Waiting, brief json.RawMessage) (*nats.Msg, error) {
	task := bus.Route{
		ID: w.ID, Kind: bus.RouteDelegate, From: w.Agent, CorrelationID: w.ID, Text: strings.ReplaceAll(w.Prompt, "\x00", "\uFFFD"), Context: brief,
		ReplyTo: bus.RoutePrefix + w.Agent, Chain: t.Chain(), Deadline: w.Deadline, Origin: w.Origin,
	}
	msg, err := bus.NewMessage(bus.RoutePrefix+w.To, task)
	if err != nil {
		return nil, err
	}
	msg.Header.Set(nats.MsgIdHdr, w.ID)
	msg.Header.Set(bus.SessionKeyHeader, w.Session)
	t.Trace.Set(msg.Header)
	return msg, nil
}

// Recall tells the agent that works on a call that its caller no longer waits for it.
// It may be done already.
func (t *Caller) Recall(call run.Call) {
	id := t.WaitID(t.ID, call)
	msg, err := agents.StopMessageBy(bus.DoorAgent, call.To, session.Route(t.Agent.ID, id), t.Agent.ID, "The agent that asked for this has stopped it.", "")
	if err != nil {
		t.Log().Error().Err(err).Msg("encode a recall")
		return
	}
	t.Trace.Set(msg.Header)
	t.Agent.Parts.Publisher.Publish(msg, func(_ uint64, _ bool, err error) {
		if err != nil {
			t.Log().Warn().Err(err).Str("agent", call.To).Msg("recall a task")
		}
	})
}
