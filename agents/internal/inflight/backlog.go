package inflight

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"agenthost/agents/internal/message"
	"agenthost/bus"
	"agenthost/llm"
	"agenthost/run"
)

// shownStale is how many messages of a backlog a model is shown, the newest.
const shownStale = 100

// Dropped reports whether the run only tells that its inputs came too late.
func (t *Run) Dropped() bool {
	return len(t.Items) > 0 && t.Items[len(t.Items)-1].Drops() // edits come first
}

// span is how many of the inputs came while no host served the agent, and when. It is
// zero for a run of inputs that came in time.
func (t *Run) span() (n int, from, to time.Time) {
	for _, it := range t.Items {
		if it.Stale.IsZero() {
			continue
		}
		n++
		if from.IsZero() || it.Stale.Before(from) {
			from = it.Stale
		}
		if it.Stale.After(to) {
			to = it.Stale
		}
	}
	return n, from.UTC(), to.UTC()
}

// between says it in words, for a model.
func between(n int, from, to time.Time) string {
	what := "1 message"
	if n != 1 {
		what = fmt.Sprintf("%d messages", n)
	}
	return what + " (" + during(from, to) + ")"
}

// during is a span of time to the minute, in figures.
func during(from, to time.Time) string {
	const minute = "2006-01-02 15:04"
	first, last := from.Format(minute), to.Format(minute)
	if first == last {
		return first + " UTC"
	}
	return first + " – " + last + " UTC"
}

// LeaveOut is the run of inputs that are dropped: the person is told once, and
// the model has the same in its memory.
func (t *Run) LeaveOut() (msg llm.Message, answer *run.Signal) {
	n, from, to := t.span()
	what, notice := between(n, from, to), t.Profile.Texts.Say("away_many", "n", strconv.Itoa(n), "when", during(from, to))
	if n == 1 {
		notice = t.Profile.Texts.Say("away_one", "when", during(from, to))
	}
	said := llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Type: llm.Text, Text: notice}}}
	return llm.UserText("[" + what + " came while you were away and were left out.]"), &run.Signal{
		Kind: run.StreamEnd, At: time.Now(), Run: t.ID, Message: &said, Finish: llm.FinishStop,
	}
}

// Summed is the one message of a backlog.
func (t *Run) Summed(messages []llm.Message) llm.Message {
	n, from, to := t.span()
	if n == 0 {
		return message.Merge(messages)
	}
	said := between(n, from, to) + " came while you were away."
	if len(messages) > shownStale {
		messages = messages[len(messages)-shownStale:]
		said += fmt.Sprintf(" These are the last %d.", shownStale)
	}
	said += " Answer them together, with what still matters now."
	all := message.Merge(messages)
	all.Parts = slices.Insert(all.Parts, 0, llm.Part{Type: llm.Text, Text: "[" + said + "]\n"})
	return all
}

// Superseded reports whether a later firing of the same schedule is in the same
// run: then the model is told once.
func (t *Run) Superseded(i int) bool {
	route := t.Items[i].Origin.Route
	if route == nil || route.Kind != bus.RouteSchedule {
		return false
	}
	for _, later := range t.Items[i+1:] {
		if r := later.Origin.Route; r != nil && r.Kind == route.Kind && r.From == route.From {
			return true
		}
	}
	return false
}
