package engine_test

import (
	"encoding/json"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/bus/records"
	"agenthost/run"
	"agenthost/session"
)

// alter publishes a message that edits or withdraws another.
func (w *crashWorld) alter(in bus.Inbound) {
	w.t.Helper()
	if in.From == "" {
		in.From = "ana"
	}
	data, err := json.Marshal(in)
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.js.Publish(w.t.Context(), "plugin.inbound.ana", data); err != nil {
		w.t.Fatal(err)
	}
}

// said are the replies and errors so far, each as what it answers and its text.
func (w *crashWorld) said() (list []string) {
	w.t.Helper()
	w.pass()
	for rec, err := range records.NewReader(w.js).Tail(w.t.Context(), bus.OutboundStream, "plugin.outbound.ana", 1) {
		out := bus.Outbound{}
		if err == nil {
			err = json.Unmarshal(rec.Data, &out)
		}
		if err != nil {
			w.t.Fatal(err)
		}
		if out.Final {
			list = append(list, out.InReplyTo+"="+strings.Fields(out.Text)[0])
		}
	}
	return list
}

func (w *crashWorld) wantSaid(want ...string) {
	w.t.Helper()
	if got := w.said(); !slices.Equal(got, want) {
		w.t.Errorf("said %q, want %q", got, want)
	}
	w.settled()
	begun := map[string]bool{}
	for _, e := range w.committed(run.Started) {
		begun[e.Run] = true
	}
	if n := len(w.committed(run.Finished)); n != len(begun) {
		w.t.Errorf("%d runs have begun, %d have ended", len(begun), n)
	}
}

// What waits is edited and withdrawn, once, wherever the host dies meanwhile and
// wherever the messages are kept.
func TestWaitingMessagesAreChangedAcrossCrashes(t *testing.T) {
	crashes := map[string]func(w *crashWorld, change func()){
		"no crash": func(_ *crashWorld, change func()) { change() },
		"before the change is in the log": func(w *crashWorld, change func()) {
			w.commits.hold()
			change()
			w.pass()
			w.crash()
			w.model.hold("m00")
			w.begin()
		},
		"when the change is in the log": func(w *crashWorld, change func()) {
			change()
			w.pass()
			w.crash()
			w.model.hold("m00")
			w.begin()
		},
		"twice": func(w *crashWorld, change func()) {
			for range 2 {
				change() // the same messages, with the same ids
				w.pass()
				w.crash()
				w.model.hold("m00")
				w.begin()
			}
		},
		"when the run that it waits for has ended": func(w *crashWorld, change func()) {
			change()
			w.pass()
			w.replies.hold()
			w.model.release("m00")
			w.pass()
			w.crash()
			w.model.hold("m00")
			w.begin()
		},
		"when its acknowledgement is lost": func(w *crashWorld, change func()) {
			change()
			w.pass()
			w.rest.hold()
			w.model.release("m00")
			w.pass()
			w.crash()
			w.model.hold("m00")
			w.begin()
		},
	}
	for name, crash := range crashes {
		t.Run(name, func(t *testing.T) {
			inCrashWorld(t, func(w *crashWorld) {
				w.model.hold("m00")
				w.tell(messages(0, 4)...)
				w.pass()
				crash(w, func() {
					w.alter(bus.Inbound{ID: "w1", Withdraws: "m01"})
					w.alter(bus.Inbound{ID: "e1", Edits: "m02", Text: "first"})
					w.alter(bus.Inbound{ID: "e2", Edits: "m02", Text: "second"})
				})
				w.pass()
				w.model.release("m00")
				w.wantSaid("m00=m00", "m02=second", "m03=m03")
			})
		})
	}
}

// A message that edits another has one place in its run, also when its channel sends it twice.
func TestEditThatComesTwice(t *testing.T) {
	inCrashWorld(t, func(w *crashWorld) {
		w.model.hold("m00")
		w.tell("m00", "m01")
		w.pass()
		for range 2 {
			w.alter(bus.Inbound{ID: "e1", Edits: "m01", Text: "other"})
		}
		w.pass()
		w.model.release("m00")
		w.wantSaid("m00=m00", "m01=other")
		var inputs []string
		for _, e := range w.committed(run.Started) {
			for _, in := range e.Inputs {
				inputs = append(inputs, in.ID)
			}
		}
		if !slices.Equal(inputs, []string{"m00", "e1", "m01"}) {
			t.Errorf("runs have the inputs %q, want each once", inputs)
		}
	})
}

// What was withdrawn is withdrawn also when its channel sends it twice.
func TestWithdrawnMessageThatComesTwice(t *testing.T) {
	inCrashWorld(t, func(w *crashWorld) {
		w.model.hold("m00")
		w.tell("m00", "m01")
		w.pass()
		w.alter(bus.Inbound{ID: "w1", Withdraws: "m01"})
		w.tell("m01")
		w.pass()
		w.model.release("m00")
		w.wantSaid("m00=m00")
	})
}

// A message that only the log has is changed there, also by one who comes after a
// restart.
func TestLoggedMessagesAreChanged(t *testing.T) {
	inCrashWorld(t, func(w *crashWorld) {
		w.fill(3) // m33 to m35 are in the log
		w.alter(bus.Inbound{ID: "w1", Withdraws: "m34"})
		w.pass()
		w.crash()
		w.model.hold("m00")
		w.begin()
		w.pass()
		w.alter(bus.Inbound{ID: "e1", Edits: "m35", Text: "other"})
		w.pass()
		w.model.release("m00")
		var want []string
		for _, id := range messages(0, 34) {
			want = append(want, id+"="+id)
		}
		w.wantSaid(append(want, "m35=other")...)
	})
}

// While a run waits for a person, what waits behind it is changed as well, and a
// change is no answer.
func TestMessagesBehindAQuestionAreChanged(t *testing.T) {
	for _, crash := range []bool{false, true} {
		var paid atomic.Int64
		inCrashWorld(t, func(w *crashWorld) {
			w.model.call = "pay"
			w.tell("pay", "m01", "m02")
			w.pass()
			w.alter(bus.Inbound{ID: "w1", Withdraws: "m01"})
			w.alter(bus.Inbound{ID: "e1", Edits: "m02", Text: "approve"})
			w.pass()
			if crash {
				w.crash()
				w.begin()
				w.pass()
			}
			if paid.Load() != 0 {
				t.Error("an edit approved the call")
			}
			w.tell("yes")
			w.pass()
			if n := len(w.committed(run.InputWithdrawn)); n != 2 || paid.Load() != 1 {
				t.Errorf("%d inputs are withdrawn, %d were paid; want the message and what withdrew it, and 1", n, paid.Load())
			}
			w.wantSaid("pay=pay", "m02=approve")
		}, has(counter(&paid)))
	}
}

// Who changes what is not there, is taken already or is of another hears of it.
func TestChangesThatCannotBe(t *testing.T) {
	inCrashWorld(t, func(w *crashWorld) {
		w.model.hold("m00")
		w.tell("m00", "m01")
		w.pass()
		w.alter(bus.Inbound{ID: "c1", Withdraws: "m00"})
		w.alter(bus.Inbound{ID: "c2", Edits: "nothing", Text: "x"})
		w.alter(bus.Inbound{ID: "c3", Withdraws: "c3"})
		w.pass()
		if got, want := w.said(), []string{"c1=I'm", "c2=No", "c3=No"}; !slices.Equal(got, want) {
			t.Errorf("said %q, want %q: they are answered at once, not after the run", got, want)
		}
		w.alter(bus.Inbound{ID: "c1", Withdraws: "m00"}) // it comes again
		w.model.release("m00")
		w.pass()
		w.alter(bus.Inbound{ID: "c4", Edits: "m01", Text: "too late"})
		w.wantSaid("c1=I'm", "c2=No", "c3=No", "m00=m00", "m01=m01", "c4=I'm")
	})
}

// Who changes what they have withdrawn hears of it; what they had said of it before goes with it.
func TestChangesOfWhatIsWithdrawn(t *testing.T) {
	for _, crash := range []bool{false, true} {
		inCrashWorld(t, func(w *crashWorld) {
			w.model.hold("m00")
			w.tell("m00", "m01")
			w.pass()
			w.alter(bus.Inbound{ID: "e1", Edits: "m01", Text: "other"})
			for range 2 {
				w.alter(bus.Inbound{ID: "w1", Withdraws: "m01"})
			}
			w.alter(bus.Inbound{ID: "e1", Edits: "m01", Text: "other"}) // it comes again
			w.alter(bus.Inbound{ID: "e2", Edits: "m01", Text: "too late"})
			w.alter(bus.Inbound{ID: "w2", Withdraws: "m01"})
			w.pass()
			if crash {
				w.crash()
				w.model.hold("m00")
				w.begin()
				w.pass()
			}
			w.model.release("m00")
			w.pass()
			got := w.said()
			slices.Sort(got)
			if want := []string{"e2=No", "m00=m00", "w2=No"}; !slices.Equal(got, want) {
				t.Errorf("crash %t: said %q, want %q", crash, got, want)
			}
			w.settled()
		})
	}
}

// In a group each changes only what they said themselves.
func TestChangesOfOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bot("ana", script(`rules: [{is: slow, delay: 3s, text: slow}, {text: "${text}"}]`)))
	say := func(in bus.Inbound) { in.Group, in.Chat = true, "team"; w.say("ana", in) }
	say(bus.Inbound{ID: "m0", Text: "slow"})
	say(bus.Inbound{ID: "m1", From: "bea", Text: "mine"})
	say(bus.Inbound{ID: "w1", From: "cyd", Withdraws: "m1"})
	if out := w.hear(); out.Kind != "error" || out.InReplyTo != "w1" || out.To != "cyd" || !out.Final {
		t.Errorf("heard %+v", out)
	}
	w.expect("reply", "slow")
	w.expect("reply", "mine")
}

// What another has said is not theirs to change, also while only the log has it; and nothing is at
// work on it.
func TestChangesOfOthersInTheLog(t *testing.T) {
	inCrashWorld(t, func(w *crashWorld) {
		say := func(in bus.Inbound) { in.Group, in.Chat = true, "team"; w.alter(in) }
		w.model.hold("m00")
		say(bus.Inbound{ID: "m00", Text: "m00"})
		w.pass()
		waiting := messages(1, mailbox+1)
		for _, id := range waiting {
			say(bus.Inbound{ID: id, Text: id})
		}
		w.pass()
		say(bus.Inbound{ID: "w1", From: "cyd", Withdraws: waiting[mailbox]})
		if got, want := w.said(), []string{"w1=No"}; !slices.Equal(got, want) {
			t.Errorf("said %q, want %q", got, want)
		}
		w.model.release("m00")
		w.pass()
	})
}

// A change behind a question that finds nothing to change is answered at once, not when the question
// is: there may be no answer for a day.
func TestChangesOfWhatIsWithdrawnBehindAQuestion(t *testing.T) {
	var paid atomic.Int64
	inCrashWorld(t, func(w *crashWorld) {
		w.model.call = "pay"
		w.tell("pay", "m01", "m02")
		w.pass()
		w.alter(bus.Inbound{ID: "w1", Withdraws: "m01"})
		w.pass()
		w.alter(bus.Inbound{ID: "e2", Edits: "m01", Text: "too late"})
		w.alter(bus.Inbound{ID: "w2", Withdraws: "m01"})
		if got, want := w.said(), []string{"e2=No", "w2=No"}; !slices.Equal(got, want) {
			t.Errorf("said %q, want %q", got, want)
		}
		w.tell("yes")
		w.wantSaid("e2=No", "w2=No", "pay=pay", "m02=m02")
	}, has(counter(&paid)))
}

// Behind a question, too, a queue that is full has room for changes of what waits in it.
func TestChangesBehindAQuestionThatNeedRoom(t *testing.T) {
	var paid atomic.Int64
	inCrashWorld(t, func(w *crashWorld) {
		w.model.call = "pay"
		w.tell("pay")
		w.pass()
		w.tell("m01", "m02", "m03")
		w.pass()
		w.alter(bus.Inbound{ID: "w1", Withdraws: "m01"})
		w.alter(bus.Inbound{ID: "e1", Edits: "m02", Text: "other"})
		w.pass()
		w.tell("yes")
		w.wantSaid("m03=Too", "pay=pay", "m02=other")
	}, has(counter(&paid)), func(a *actor) { a.cfg.Session.QueueMax = 2 })
}

// A message that an edit makes an order is not collected with others, which would have the answer of
// the order.
func TestEditsThatMakeOrdersAreNotCollected(t *testing.T) {
	for _, first := range []string{"m01", "m02"} {
		inCrashWorld(t, func(w *crashWorld) {
			w.model.hold("m00")
			w.tell("m00")
			w.pass()
			w.tell("m01", "m02", "m03")
			w.alter(bus.Inbound{ID: "e1", Edits: first, Text: "/help"})
			w.alter(bus.Inbound{ID: "e2", Edits: first, Text: "/new"})
			w.pass()
			w.model.release("m00")
			if want := map[string][]string{
				"m01": {"m00=m00", "m01=Done.", "m03=m02"},
				"m02": {"m00=m00", "m01=m01", "m02=Done.", "m03=m03"},
			}[first]; !slices.Equal(w.said(), want) {
				t.Errorf("said %q, want %q", w.said(), want)
			}
			w.settled()
		}, func(a *actor) { a.cfg.Channels[0].Queue = "collect" })
	}
}

// What is collected is changed before it becomes one input.
func TestCollectedMessagesAreChanged(t *testing.T) {
	inCrashWorld(t, func(w *crashWorld) {
		w.model.hold("m00")
		w.tell("m00")
		w.pass()
		w.tell("m01", "m02")
		w.alter(bus.Inbound{ID: "e1", Edits: "m01", Text: "uno"})
		w.tell("m03")
		w.alter(bus.Inbound{ID: "w1", Withdraws: "m02"})
		w.pass()
		w.model.release("m00")
		w.wantSaid("m00=m00", "m03=uno")
		var inputs []string
		for _, in := range w.committed(run.Started)[1].Inputs {
			inputs = append(inputs, in.ID)
		}
		if want := []string{"e1", "m01", "m03"}; !slices.Equal(inputs, want) {
			t.Errorf("the run answers %q, want %q", inputs, want)
		}
	}, func(a *actor) { a.cfg.Channels[0].Queue = "collect" })
}

// Of two edits of one message the newer counts, wherever both and the message are kept, and
// whether the host dies between them.
func TestNewerEditCountsWhereverItIsKept(t *testing.T) {
	collect := func(a *actor) { a.cfg.Channels[0].Queue = "collect" }
	held := func(ids ...string) func(w *crashWorld) {
		return func(w *crashWorld) {
			w.model.hold("m00")
			w.tell("m00")
			w.pass()
			w.tell(ids...)
		}
	}
	tests := map[string]struct {
		more    []func(*actor)
		wait    func(w *crashWorld) // until m33 waits
		crashes []string            // none, between the edits, after them
	}{
		"in memory":  {nil, held("m33"), []string{"", "between", "after"}},
		"in the log": {nil, func(w *crashWorld) { w.fill(1) }, []string{"", "between", "after"}},
		// After a crash before the second edit all would be taken together.
		"collected": {[]func(*actor){collect}, held("m33", "m34"), []string{"", "after"}},
	}
	for name, tt := range tests {
		for _, crash := range tt.crashes {
			t.Run(name+" "+crash, func(t *testing.T) {
				inCrashWorld(t, func(w *crashWorld) {
					again := func(now string) {
						w.pass()
						if crash == now {
							w.crash()
							w.model.hold("m00")
							w.begin()
							w.pass()
						}
					}
					tt.wait(w)
					w.pass()
					w.alter(bus.Inbound{ID: "e1", Edits: "m33", Text: "older"})
					again("between")
					w.alter(bus.Inbound{ID: "e2", Edits: "m33", Text: "newer"})
					again("after")
					w.model.release("m00")
					w.pass()
					var taken []string
					for _, e := range w.committed(run.Started) {
						for _, in := range e.Inputs {
							if in.ID == "m33" {
								taken = append(taken, string(in.Envelope))
							}
						}
					}
					if len(taken) == 0 || slices.ContainsFunc(taken, func(s string) bool { return !strings.Contains(s, "newer") }) {
						t.Errorf("the message was taken as %q, want the newer edit of it", taken)
					}
					w.settled()
				}, tt.more...)
			})
		}
	}
}

// A copy of a message that is collected already does not end the collecting.
func TestCopiesAreCollected(t *testing.T) {
	inCrashWorld(t, func(w *crashWorld) {
		w.model.hold("m00")
		w.tell("m00")
		w.pass()
		w.tell("m01", "m01", "m02", "m01", "m03", "m04")
		w.pass()
		w.model.release("m00")
		w.wantSaid("m00=m00", "m04=m01")
		var inputs []string
		for _, in := range w.committed(run.Started)[1].Inputs {
			inputs = append(inputs, in.ID)
		}
		if want := []string{"m01", "m02", "m03", "m04"}; !slices.Equal(inputs, want) || len(w.committed(run.Started)) != 2 {
			t.Errorf("the run answers %q, want %q", inputs, want)
		}
	}, func(a *actor) { a.cfg.Channels[0].Queue = "collect" })
}

// Whatever still comes, collecting ends: five times debounce after the first message,
// or after debounce_max, of the binding before the agent's.
func TestCollectingEnds(t *testing.T) {
	const most = 2 * debounce
	tests := map[string]struct {
		binding agents.Binding
		session session.Config
		runs    int // the runs that 20 messages become: of twelve each by default, of five within most
	}{
		"by default":           {agents.Binding{Debounce: debounce}, session.Config{}, 2},
		"the agent's default":  {agents.Binding{}, session.Config{Debounce: debounce}, 2},
		"set":                  {agents.Binding{Debounce: debounce, DebounceMax: most}, session.Config{}, 4},
		"set for the agent":    {agents.Binding{}, session.Config{Debounce: debounce, DebounceMax: most}, 4},
		"of the agent's wait":  {agents.Binding{DebounceMax: most}, session.Config{Debounce: debounce}, 4},
		"before the agent's":   {agents.Binding{DebounceMax: most}, session.Config{Debounce: debounce, DebounceMax: 10 * debounce}, 4},
		"longer than all come": {agents.Binding{Debounce: debounce, DebounceMax: time.Minute}, session.Config{}, 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			inCrashWorld(t, func(w *crashWorld) {
				w.stop()
				tt.binding.Channel, tt.binding.Queue = "ana", "collect"
				w.actor.cfg.Channels, w.actor.cfg.Session = []agents.Binding{tt.binding}, tt.session
				w.begin()
				// They come faster than the debounce. None comes at the very moment at which the
				// collecting ends: it would be either run's, or one of its own.
				for i := range 20 {
					w.tell(messages(i, 1)...)
					w.idle(debounce * 9 / 20)
				}
				w.pass()
				if n := len(w.committed(run.Started)); n != tt.runs {
					t.Errorf("20 messages in nine times debounce became %d runs, want %d", n, tt.runs)
				}
			})
		})
	}
}

const debounce = 2 * time.Second

// idle lets time pass.
func (w *crashWorld) idle(d time.Duration) { time.Sleep(d) }
