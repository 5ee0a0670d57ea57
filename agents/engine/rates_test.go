package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/hooks"
	"agenthost/session"
	"agenthost/tools"

	"github.com/google/go-cmp/cmp"
)

// rated bounds what each sender may write on the channel of an agent.
func rated(messages int, over string) func(*actor) {
	return func(a *actor) {
		a.cfg.Channels[0].Rate = agents.Rate{Messages: messages, Per: time.Hour, Over: over}
	}
}

func divided(n int) func(*actor) { return func(a *actor) { a.cfg.Partitions = n } }

const askingThings = `
rules:
  - {when: write, tool_calls: [{name: write_file, args: {path: note.txt, text: hello}}]}
  - {when: color, tool_calls: [{name: ask_human, args: {question: "Which?", options: [red, blue]}}]}
  - {when: name, tool_calls: [{name: ask_human, args: {question: "Who?"}}]}
  - {after_tool: "*", text: "It says: ${result}"}
  - {text: "You said: ${text}"}
`

// asker asks people, and writes what they approve.
func asker(r *runs, more ...func(*actor)) actor {
	ask := tools.Tool{Name: "ask_human", Schema: anything, ReadOnly: true, Asks: true, Run: func(_ context.Context, call tools.Call) (tools.Result, error) {
		var args struct {
			Question string
			Options  []string
		}
		err := json.Unmarshal(call.Args, &args)
		return tools.Result{Wait: &tools.Wait{Question: true, Prompt: args.Question, Options: args.Options}}, err
	}}
	return bot("ana", append([]func(*actor){script(askingThings), has(r.tool(), ask)}, more...)...)
}

const (
	tooMuch = "rate_limited"
	refuse  = agents.RateRefuse
	wait    = "wait"
)

// expectTooMuch waits for the refusal of a message.
func (w *world) expectTooMuch(id string) {
	w.t.Helper()
	if out := w.hear(); out.Kind != "error" || out.Error == nil || out.Error.Code != tooMuch || out.InReplyTo != id || !out.Final {
		w.t.Fatalf("heard %+v, want that %s is refused", out, id)
	}
}

// A message that could be an answer, but is not, counts, and what is open stays so.
func TestWhatIsNoAnswerCounts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, asker(new(runs), rated(2, refuse)))
	w.say("ana", bus.Inbound{Text: "hello"})
	w.expect("reply", "You said: hello")
	w.say("ana", bus.Inbound{Text: "write"})
	w.hear()
	w.settled()
	for _, id := range []string{"no word", "again"} {
		w.say("ana", bus.Inbound{ID: id, Text: "maybe"})
		w.expectTooMuch(id)
	}
	w.settled()
	w.say("ana", bus.Inbound{Text: "approve"})
	w.expect("reply", "It says: wrote note.txt")
	w.say("ana", bus.Inbound{ID: "late", Text: "approve"}) // nothing is open any more
	w.expectTooMuch("late")
	w.settled()
	w.silent()
}

// Of several words to one question the first is the answer, and the others count.
func TestOneAnswerDoesNotCount(t *testing.T) {
	t.Parallel()
	w := newWorld(t, asker(new(runs), rated(1, refuse)))
	w.say("ana", bus.Inbound{Text: "name"})
	w.hear()
	w.settled()
	for i := range 5 {
		w.say("ana", bus.Inbound{ID: fmt.Sprint("w", i), Text: fmt.Sprint("Bob ", i)})
	}
	heard := map[string]string{}
	for range 5 {
		out := w.hear()
		heard[out.InReplyTo] = out.Text
		if out.Kind == "error" && out.Error.Code == tooMuch {
			heard[out.InReplyTo] = tooMuch
		}
	}
	for i := range 5 {
		want := tooMuch
		if i == 0 {
			continue // the reply is to what began the run
		}
		if got := heard[fmt.Sprint("w", i)]; got != want {
			t.Errorf("of w%d heard %q, want %q; all: %q", i, got, want, heard)
		}
	}
	w.settled()
	w.silent()
}

// What a run of the clock has asked in a chat is answered in words there, over the rate as well.
func TestAnswersToAScheduleDoNotCount(t *testing.T) {
	t.Parallel()
	for _, over := range []string{refuse, wait} {
		t.Run(over, func(t *testing.T) {
			t.Parallel()
			var r runs
			w := newWorld(t, asker(&r, rated(1, over)))
			w.fireTo("write", "daily", bus.Origin{Subject: "plugin.outbound.ana", To: "bea"})
			w.expect("approval", "Ana wants to write note.txt (5 bytes). Reply approve or deny.")
			w.settled()
			w.say("ana", bus.Inbound{From: "bea", Text: "hello"})
			w.expect("reply", "You said: hello")
			w.say("ana", bus.Inbound{From: "bea", Text: "approve"})
			w.eventually("it has run", func() bool { return len(r.ran()) == 1 })
			for range 2 {
				if out := w.hear(); out.Kind != "reply" && (out.Kind != "notice" || out.Text != "It says: wrote note.txt") {
					t.Errorf("heard %+v", out)
				}
			}
			w.settled()
			w.silent()
		})
	}
}

// A message that comes again costs nothing, and is answered as any that does.
func TestRepeatedMessagesDoNotCount(t *testing.T) {
	t.Parallel()
	for _, over := range []string{refuse, wait} {
		for _, partitions := range []int{0, 2} {
			for _, restarts := range []bool{false, true} {
				t.Run(fmt.Sprint(over, " ", partitions, " ", restarts), func(t *testing.T) {
					t.Parallel()
					a := asker(new(runs), rated(2, over), divided(partitions))
					w := newWorld(t, a)
					// What the stream has is what a person gets: the next owner may send a reply again,
					// which the stream drops.
					said := func(texts ...string) {
						t.Helper()
						w.eventually(fmt.Sprint(len(texts), " replies"), func() bool { return w.stored(bus.OutboundStream) >= uint64(len(texts)) })
						w.settled()
						if diff := cmp.Diff(texts, w.kept()); diff != "" {
							t.Errorf("%s", diff)
						}
					}
					for range 4 {
						w.say("ana", bus.Inbound{ID: "same", Text: "hello"})
					}
					said("You said: hello")
					if restarts {
						w.stop()
						w.start(a)
					}
					for range 4 {
						w.say("ana", bus.Inbound{ID: "same", Text: "hello"})
					}
					w.settled()
					w.say("ana", bus.Inbound{ID: "second", Text: "and more"})
					said("You said: hello", "You said: and more")
				})
			}
		}
	}
}

// kept are the texts of all messages to people that are stored.
func (w *world) kept() (texts []string) {
	w.t.Helper()
	for rec, err := range w.parts.Reader.Tail(w.t.Context(), bus.OutboundStream, "plugin.outbound.>", 1) {
		out := bus.Outbound{}
		if err == nil {
			err = json.Unmarshal(rec.Data, &out)
		}
		if err != nil {
			w.t.Fatal(err)
		}
		texts = append(texts, out.Text)
	}
	return texts
}

// What comes again during its run, or while it waits for its turn, costs nothing either.
func TestMessagesThatComeAgainDuringTheirRunDoNotCount(t *testing.T) {
	t.Parallel()
	for _, over := range []string{refuse, wait} {
		t.Run(over, func(t *testing.T) {
			t.Parallel()
			model := make(patientModel)
			w := newWorld(t, bot("ana", rated(2, over), func(a *actor) { a.model = model }))
			w.say("ana", bus.Inbound{ID: "1", Text: "one"})
			w.eventually("the run", func() bool { s := w.fleet.Status()[0]; return s.Running == 1 && s.Queued == 0 })
			for range 3 {
				w.say("ana", bus.Inbound{ID: "1", Text: "one"})
			}
			for range 3 {
				w.say("ana", bus.Inbound{ID: "2", Text: "two"})
			}
			w.eventually("all", func() bool { return w.fleet.Status()[0].Queued == 6 })
			go func() {
				for range 2 {
					model <- struct{}{}
				}
			}()
			w.expect("reply", "one")
			w.expect("reply", "two")
			w.settled()
			w.say("ana", bus.Inbound{ID: "3", Text: "three"})
			if out := w.hear(); out.InReplyTo != "3" || out.Kind != map[string]string{refuse: "error", wait: "notice"}[over] {
				t.Errorf("heard %+v, want that 3 is over the rate", out)
			}
			w.silent()
		})
	}
}

// It costs nothing either while hooks look at it, before its run has begun.
func TestMessagesThatComeAgainBeforeTheirRunDoNotCount(t *testing.T) {
	t.Parallel()
	for _, over := range []string{refuse, wait} {
		t.Run(over, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, bot("ana", script(`rules: [{text: "You said: ${text}"}]`), rated(2, over), func(a *actor) {
				a.cfg.Session = session.Config{Queue: session.Collect, Debounce: 100 * time.Millisecond}
			}))
			looks, goOn := make(chan struct{}, 10), make(chan struct{})
			w.hook(hooks.BeforeMessage, hooks.Options{}, func(ctx context.Context, _ hooks.Call) (hooks.Outcome, error) {
				looks <- struct{}{}
				select {
				case <-goOn:
				case <-ctx.Done():
				}
				return hooks.Outcome{}, nil
			})
			w.say("ana", bus.Inbound{ID: "1", Text: "one"})
			w.say("ana", bus.Inbound{ID: "2", Text: "two"})
			<-looks
			w.say("ana", bus.Inbound{ID: "1", Text: "one"})
			w.eventually("the copy waits", func() bool { return w.fleet.Status()[0].Queued == 1 || len(w.out) > 0 })
			close(goOn)
			w.expect("reply", "You said: one\ntwo")
			w.settled()
			w.silent()
		})
	}
}

// patient has the runs of an agent take as long as they do.
func patient(a *actor) { a.cfg.Limits.RunTimeout = 24 * time.Hour }
