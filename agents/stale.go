package agents

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"agenthost/llm"
	"agenthost/run"
)

// Stale is the `stale:` of a binding: what becomes of a message that came while
// nobody served the agent. The zero value answers every message.
type Stale struct {
	After time.Duration `yaml:"after,omitempty" json:"after,omitempty"`
	Do    string        `yaml:"do,omitempty" json:"do,omitempty"`
}

// What Stale.Do can be.
const (
	StaleAnswer    = "answer"
	StaleDrop      = "drop"
	StaleSummarise = "summarise"
)

// staleWait is how long a session waits for more of its backlog: what follows
// within that becomes one run with what came before.
const staleWait = time.Second

// shownStale is how many messages of a backlog a model is shown, the newest.
const shownStale = 100

// age says how old a message was when this host first got it, by the time at
// which the stream took it: clocks of senders are theirs. One that was in time
// then does not become stale in the queue.
func (it *item) age(stored time.Time) {
	if it.binding == nil || it.binding.Stale.After <= 0 || it.origin.inbound.Answers != "" || it.changes() {
		return
	}
	if way := it.binding.Stale.Do; way == StaleDrop || way == StaleSummarise {
		if time.Since(stored) > it.binding.Stale.After {
			it.stale = stored
		}
	}
}

// dropped reports whether the run only tells that its inputs came too late.
func (t *runner) dropped() bool {
	return len(t.items) > 0 && t.items[len(t.items)-1].drops() // edits come first
}

func (it *item) drops() bool { return !it.stale.IsZero() && it.binding.Stale.Do == StaleDrop }

// alike reports whether two inputs are of the same backlog, or both of none.
func (it *item) alike(other *item) bool {
	return it.binding == other.binding && it.stale.IsZero() == other.stale.IsZero()
}

// span is how many of the inputs came while nobody was there, and when. It is
// zero for a run of inputs that came in time.
func (t *runner) span() (n int, from, to time.Time) {
	for _, it := range t.items {
		if it.stale.IsZero() {
			continue
		}
		n++
		if from.IsZero() || it.stale.Before(from) {
			from = it.stale
		}
		if it.stale.After(to) {
			to = it.stale
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

// leaveOut is the run of inputs that are dropped: the person is told once, and
// the model has the same in its memory.
func (t *runner) leaveOut() (msg llm.Message, answer *run.Signal) {
	n, from, to := t.span()
	what, notice := between(n, from, to), t.p.texts.Say("away_many", "n", strconv.Itoa(n), "when", during(from, to))
	if n == 1 {
		notice = t.p.texts.Say("away_one", "when", during(from, to))
	}
	said := llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Type: llm.Text, Text: notice}}}
	return llm.UserText("[" + what + " came while you were away and were left out.]"), &run.Signal{
		Kind: run.StreamEnd, At: time.Now(), Run: t.id, Message: &said, Finish: llm.FinishStop,
	}
}

// summed is the one message of a backlog.
func (t *runner) summed(messages []llm.Message) llm.Message {
	n, from, to := t.span()
	if n == 0 {
		return merge(messages)
	}
	said := between(n, from, to) + " came while you were away."
	if len(messages) > shownStale {
		messages = messages[len(messages)-shownStale:]
		said += fmt.Sprintf(" These are the last %d.", shownStale)
	}
	said += " Answer them together, with what still matters now."
	all := merge(messages)
	all.Parts = slices.Insert(all.Parts, 0, llm.Part{Type: llm.Text, Text: "[" + said + "]\n"})
	return all
}

// backlog is how many inputs of a backlog one run takes.
func (r *Runtime) backlog() int { return cmp.Or(r.now().cfg.Session.QueueMax, defaultQueueMax) }
