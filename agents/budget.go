package agents

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"agenthost/llm"
	"agenthost/run"

	"github.com/rs/zerolog"
)

// What a run does that would go beyond a budget.
const (
	failExceeded = "fail"
	askExceeded  = "ask"
	warnExceeded = "warn"
)

// A span is what a budget is for.
type span string

const (
	spanRun     span = "run"
	spanSession span = "session"
	spanDay     span = "day"
	spanMonth   span = "month"
	spanPeer    span = "peer_day"
)

// overBudget is what a person allows who lets a session, or an agent, go on
// beyond its budget.
const overBudget = "going beyond the budget"

// An excess is a budget that a call would go beyond.
type excess struct {
	span         span
	spent, limit int64 // micro-cents
	peer         peer  // spanPeer: whose budget it is
}

// period names the day or month of the budget, and the person.
func (e *excess) period(now time.Time) string {
	day := now.UTC().Format(dayFormat)
	if e.span == spanMonth {
		return string(e.span) + " " + day[:len(monthFormat)]
	}
	return string(e.span) + " " + string(e.peer) + " " + day
}

// toldPeriod notes that operators were told of a budget, and reports whether they
// were before. Of periods that are over nothing is kept.
func (r *Runtime) toldPeriod(period string) (before bool) {
	day := time.Now().UTC().Format(dayFormat)
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.toldExcess, func(old string, _ struct{}) bool {
		return !strings.HasSuffix(old, " "+day) && !strings.HasSuffix(old, " "+day[:len(monthFormat)])
	})
	if _, before = r.toldExcess[period]; before {
		return true
	}
	if r.toldExcess == nil {
		r.toldExcess = map[string]struct{}{}
	}
	r.toldExcess[period] = struct{}{}
	return false
}

func (e *excess) Error() string {
	return fmt.Sprintf("budget of a %s: %s of %s spent", e.span, llm.Money(e.spent), llm.Money(e.limit))
}

// exceeded ends the run, or has it wait for somebody to let it go on.
func (t *runner) exceeded(e *excess, called []run.Event) run.Signal {
	if t.p.cfg.Limits.Budget.OnExceed != askExceeded {
		return run.Signal{
			Kind: run.Fault, Called: called,
			Error: &run.Error{Code: llm.CodeBudgetExceeded, Message: t.p.texts.Say("budget_" + string(e.span))},
		}
	}
	wait := &run.Wait{
		For: run.ForApproval, ID: newWait(),
		Prompt:   t.p.texts.Say("budget_ask_"+string(e.span), "spent", llm.Money(e.spent), "limit", llm.Money(e.limit)),
		Deadline: time.Now().Add(t.p.cfg.Limits.ApprovalTimeout),
	}
	t.word([]*run.Wait{wait})
	return run.Signal{Kind: run.Held, Called: called, Wait: wait}
}

// overdrawn reports whether somebody has let this run go beyond its budget.
func (t *runner) overdrawn() bool {
	left := t.journal.State().Run
	return t.overdraft || left != nil && left.Overdraft
}

// mayOverdraw asks whether somebody has let the session, or all of the
// agent's, go beyond their budgets.
func (t *runner) mayOverdraw(ctx context.Context) bool {
	t.overdraft = t.overdraft || t.c.r.parts.allowed(ctx, t.c.r.id, t.c.key, overBudget)
	return t.overdraft
}

// tellExcess tells operators that a budget is exceeded: once for each run,
// session, day or month.
func (t *runner) tellExcess(e *excess) {
	c, r := t.c, t.c.r
	var told bool
	switch e.span {
	case spanRun:
		told, t.toldExcess = t.toldExcess, true
	case spanSession:
		c.mu.Lock()
		told, c.toldExcess = c.toldExcess, true
		c.mu.Unlock()
	default:
		told = r.toldPeriod(e.period(time.Now()))
	}
	if told {
		return
	}
	onExceed := cmp.Or(t.p.cfg.Limits.Budget.OnExceed, failExceeded)
	c.log().Warn().Str("run", t.id).Str("span", string(e.span)).Str("spent", llm.Money(e.spent)).
		Str("limit", llm.Money(e.limit)).Str("on_exceed", onExceed).Msg("budget exceeded")
	fields := map[string]any{"span": e.span, "spent": e.spent, "limit": e.limit, "on_exceed": onExceed}
	if e.span == spanRun || e.span == spanSession {
		fields["session"] = c.key
	}
	if e.peer != "" {
		fields["peer"] = e.peer
	}
	if e.span == spanRun {
		fields["run"] = t.id
	}
	r.parts.eventOf(t.chain(), r.id, "budget", fields)
}

// hasBudget reports whether the agent has one, for all or for one binding.
func (r *Runtime) hasBudget() bool {
	p := r.now()
	return !p.cfg.Limits.Budget.none() || slices.ContainsFunc(p.bound, func(b bound) bool {
		return !b.profile.cfg.Limits.Budget.none()
	})
}

// warnUnpriced says of which models a budget cannot know what they cost.
func (r *Runtime) warnUnpriced() {
	p := r.now()
	p.warnUnpriced(*r.log())
	for _, b := range p.bound {
		b.profile.warnUnpriced(r.log().With().Str("channel", b.subject).Logger())
	}
}

func (p *profile) warnUnpriced(log zerolog.Logger) {
	if p.cfg.Limits.Budget.none() {
		return
	}
	for _, l := range p.chain.Links {
		if l.Price == nil {
			log.Warn().Str("provider", l.Name).Str("model", l.Model).
				Msg("what this model costs is not known and counts as nothing in the budget; set its price")
		}
	}
}
