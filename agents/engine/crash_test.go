package engine_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/bus/filestore"
	"agenthost/bus/records"
	"agenthost/internal/pause"
	"agenthost/llm"
	"agenthost/run"
	"agenthost/session"
	"agenthost/tools"
)

// mailbox is how many messages a session holds; those beyond go to its log.
const mailbox = 32

// A message is not acknowledged before its run is committed: a crash in between
// would lose it.
func TestUncommittedRunOutlivesACrash(t *testing.T) {
	inCrashWorld(t, func(w *crashWorld) {
		w.commits.hold()
		w.tell("m00")
		w.pass()
		if w.model.called("m00") != 1 {
			t.Fatal("the run has not begun")
		}
		w.crash()
		w.begin()
		w.wantReplies("m00")
	})
}

// fill has the run of m00 at work, which the model holds, the mailbox full behind
// it, and n messages more, which are in the log.
func (w *crashWorld) fill(n int) {
	w.t.Helper()
	w.model.hold("m00")
	w.tell("m00")
	w.pass()
	w.tell(messages(1, mailbox+n)...)
	w.pass()
	if in := len(w.committed(run.InputAdded)); in != n {
		w.t.Fatalf("the log has %d inputs that wait, want %d", in, n)
	}
}

// A message that the mailbox has no room for is not acknowledged before the log
// has it.
func TestUncommittedSpillOutlivesACrash(t *testing.T) {
	inCrashWorld(t, func(w *crashWorld) {
		w.fill(2)
		w.commits.hold()
		w.tell(messages(mailbox+3, 5)...)
		w.pass()
		w.crash()
		w.begin()
		w.wantReplies(messages(0, mailbox+8)...)
	})
}

// A message is not acknowledged, nor is another reply sent, before its reply is
// stored.
func TestUnpublishedReplyOutlivesACrash(t *testing.T) {
	inCrashWorld(t, func(w *crashWorld) {
		w.replies.hold()
		w.tell(messages(0, 3)...)
		w.pass()
		if n := len(w.committed(run.Finished)); n != 3 {
			t.Fatalf("%d runs are committed, want 3", n)
		}
		w.crash()
		w.begin()
		w.wantReplies(messages(0, 3)...)
	})
}

// While the log holds inputs whose messages are acknowledged, one message stays
// unacknowledged, so that whoever serves the agent next opens the session, and so
// does the one after that.
func TestLoggedInputsOutliveCrashes(t *testing.T) {
	inCrashWorld(t, func(w *crashWorld) {
		w.fill(7)
		w.model.hold("m36")
		w.model.release("m00")
		w.crashIn("m36") // one of those after m32, which are in the log
		w.model.hold("m38")
		w.begin()
		w.crashIn("m38")
		w.begin()
		w.wantReplies(messages(0, mailbox+8)...)
	})
}

// What comes while its agent is paused is in the log at once. One message stands for it,
// so that the next owner goes on with it when the pause is over.
func TestPausedMessagesOutliveACrash(t *testing.T) {
	inCrashWorld(t, func(w *crashWorld) {
		pauses, agent := pause.NewStore(w.js), pause.Target{Agent: "ana"}
		if _, err := pauses.Begin(w.t.Context(), pause.Pause{Target: agent}); err != nil {
			t.Fatal(err)
		}
		w.pass()
		w.tell(messages(0, 3)...)
		w.pass()
		if n := len(w.committed(run.InputAdded)); n != 3 {
			t.Fatalf("the log has %d inputs that wait, want 3", n)
		}
		w.crash()
		w.begin()
		w.pass()
		if err := pauses.End(w.t.Context(), agent); err != nil {
			t.Fatal(err)
		}
		w.wantReplies(messages(0, 3)...)
	})
}

// Nor is one that comes while a run waits for a person, when nothing else would
// have it delivered again.
func TestUncommittedInputBehindAQuestionOutlivesACrash(t *testing.T) {
	var paid atomic.Int64
	inCrashWorld(t, func(w *crashWorld) {
		w.model.call = "pay"
		w.tell("pay", "m00")
		w.pass()
		w.settled()
		w.commits.hold()
		w.tell("m01", "m02")
		w.pass()
		w.crash()
		w.begin()
		w.tell("approve")
		w.wantReplies("pay", "m00", "m01", "m02")
	}, has(counter(&paid)))
}

// What comes while a run waits for a person is acknowledged to the last message.
// It is the answer that stays unacknowledged in its place then, also when it has
// come again.
func TestInputsLoggedBehindAQuestionOutliveCrashes(t *testing.T) {
	var paid atomic.Int64
	inCrashWorld(t, func(w *crashWorld) {
		w.model.call = "pay"
		w.tell("pay")
		w.pass()
		w.tell(messages(0, 5)...)
		w.pass()
		w.settled()
		w.model.hold("m01")
		w.tell("approve")
		w.crashIn("m01")
		w.model.hold("m03")
		w.begin()
		w.crashIn("m03")
		w.begin()
		w.wantReplies(append([]string{"pay"}, messages(0, 5)...)...)
		if n := paid.Load(); n != 1 {
			t.Errorf("paid %d times, want once", n)
		}
	}, has(counter(&paid)))
}

// A host that stops ends the run in progress and leaves the inputs that only the log has.
// The answer stays unacknowledged in their place also when the reply to it is stored after
// they were left.
func TestInputsLoggedBehindAQuestionOutliveAStop(t *testing.T) {
	var paid atomic.Int64
	inCrashWorld(t, func(w *crashWorld) {
		w.model.call = "pay"
		w.tell("pay")
		w.pass()
		w.tell(messages(0, 5)...)
		w.pass()
		w.settled()
		w.model.hold("pay")
		w.tell("approve")
		w.pass()
		w.replies.hold()
		stopped := make(chan struct{})
		go func() { defer close(stopped); w.stop() }()
		time.Sleep(500 * time.Millisecond)
		w.model.release("pay")
		time.Sleep(500 * time.Millisecond)
		w.replies.release()
		<-stopped
		w.begin()
		w.wantReplies(append([]string{"pay"}, messages(0, 5)...)...)
	}, has(counter(&paid)))
}

// The replies of a run that waited, and of an input that only the log had, are
// lost together: the answer that comes again is what the next owner knows of, and
// both are sent.
func TestLostRepliesToLoggedInputsAreSentAfterACrash(t *testing.T) {
	var paid atomic.Int64
	inCrashWorld(t, func(w *crashWorld) {
		w.model.call = "pay"
		w.tell("pay", "m00", "m01")
		w.pass()
		w.settled()
		w.replies.hold()
		w.tell("approve")
		w.pass()
		if n := len(w.committed(run.Finished)); n != 2 {
			t.Errorf("%d runs are committed, want those of pay and m00, 2", n)
		}
		w.crash()
		w.begin()
		w.wantReplies("pay", "m00", "m01")
	}, has(counter(&paid)))
}

// What ended a run may have come by another lane, and come again late: that of the chat's
// messages is taken over first. The reply that was not published goes before the next.
func TestReplyBeforeThatOfALaterMessage(t *testing.T) {
	inCrashWorld(t, func(w *crashWorld) {
		w.model.call = "pay"
		w.tell("pay")
		w.pass()
		w.replies.hold()
		time.Sleep(2 * time.Minute) // without an approval
		if n := len(w.committed(run.Finished)); n != 1 {
			w.t.Fatalf("%d runs are committed, want 1", n)
		}
		w.crash()
		w.purge(bus.SchedulesStream) // the deadline does not come again so soon
		w.begin()
		w.pass()
		w.tell("m01")
		w.pass()
		w.wantReplies("pay", "m01")
	}, has(counter(new(atomic.Int64))), func(a *actor) { a.cfg.Limits.ApprovalTimeout = time.Minute })
}

// purge deletes all that a stream has.
func (w *crashWorld) purge(name string) {
	w.t.Helper()
	stream, err := w.js.Stream(w.t.Context(), name)
	if err == nil {
		err = stream.Purge(w.t.Context())
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// A run that is steered has replies in several commits. Those that were committed and not
// published, as the host died, are published by the next, in their order.
func TestRepliesOfASteeredRunOutliveACrash(t *testing.T) {
	inCrashWorld(t, func(w *crashWorld) {
		w.model.hold("m00")
		w.tell("m00")
		w.pass()
		w.tell("m01")
		w.pass()
		w.replies.hold()
		w.model.release("m00")
		w.pass()
		if n := len(w.committed(run.Replied)); n != 2 {
			t.Fatalf("the log has %d replies, want 2", n)
		}
		w.crash()
		w.begin()
		w.pass()
		if texts := w.texts(); !slices.Equal(texts, []string{"m00", "m01"}) {
			t.Errorf("got %q, want both replies", texts)
		}
		w.settled()
	}, func(a *actor) { a.cfg.Session.Queue = session.Steer })
}

// A question that was committed and not put, as its host died, is put by the next, with
// its deadline: without an answer by then the call is denied.
func TestQuestionThatWasNotPutOutlivesACrash(t *testing.T) {
	var paid atomic.Int64
	inCrashWorld(t, func(w *crashWorld) {
		w.model.call = "pay"
		w.replies.hold()
		w.tell("pay")
		w.pass()
		if n := len(w.committed(run.ApprovalAsked)); n != 1 {
			t.Fatalf("%d approvals are asked for in the log, want 1", n)
		}
		w.crash()
		w.begin()
		if out := w.hear(); out.Kind != bus.KindApproval {
			t.Errorf("heard %s %q, want the approval", out.Kind, out.Text)
		}
		time.Sleep(2 * time.Minute)
		w.wantReplies("pay")
		if n := paid.Load(); n != 0 {
			t.Errorf("paid %d times, want never", n)
		}
	}, has(counter(&paid)), func(a *actor) { a.cfg.Limits.ApprovalTimeout = time.Minute })
}

// A message may be in the hands of two hosts, as its lane moved. One has asked a person
// because of it and died before the question was put, and its deadline set; the other does so.
func TestQuestionThatAnotherOwnerHasNotPut(t *testing.T) {
	var paid atomic.Int64
	inCrashWorld(t, func(w *crashWorld) {
		w.model.call = "pay"
		w.replies.hold()
		w.tell("pay")
		w.pass()
		w.crash()
		w.purge(bus.InboundStream) // it does not come again: the other host has it
		w.begin()
		w.pass()
		w.alter(bus.Inbound{ID: "pay", Text: "pay"})
		time.Sleep(2 * time.Minute)
		w.wantReplies("pay")
		if n := paid.Load(); n != 0 {
			w.t.Errorf("paid %d times, want never", n)
		}
	}, has(counter(&paid)), func(a *actor) { a.cfg.Limits.ApprovalTimeout = time.Minute })
}

// A task wants an approval, its host dies before the question is put, and its time is over
// before the next host begins: the question is put all the same, and the run ends by it.
func TestQuestionOfATaskThatIsOver(t *testing.T) {
	var paid atomic.Int64
	inCrashWorld(t, func(w *crashWorld) {
		w.model.call = "pay"
		w.replies.hold()
		w.publish("agent.route.ana", bus.Route{
			ID: "1", Kind: bus.RouteDelegate, From: "cli", CorrelationID: "c", Text: "pay", ReplyTo: "results.of.ana", Deadline: time.Now().Add(time.Minute),
		})
		w.pass()
		if n := len(w.committed(run.ApprovalAsked)); n != 1 {
			t.Fatalf("%d approvals are asked for in the log, want 1", n)
		}
		w.crash()
		time.Sleep(2 * time.Minute)
		w.begin()
		time.Sleep(10 * time.Minute)
		if n := len(w.committed(run.Finished)); n != 1 || paid.Load() != 0 {
			w.t.Errorf("the run has ended %d times, paid %d times, want once, never", n, paid.Load())
		}
		w.settled()
	}, has(counter(&paid)), func(a *actor) { a.cfg.Limits.ApprovalTimeout = 5 * time.Minute })
}

// A run that waits for a person keeps nothing of its session in memory.
func TestWaitingRunKeepsNothing(t *testing.T) {
	var paid atomic.Int64
	inCrashWorld(t, func(w *crashWorld) {
		w.model.call = "pay"
		w.tell("m00")
		w.pass()
		key := session.DM("ana", "", "ana")
		if !w.fleet.HasLogOpen("ana", key) {
			t.Error("the log of a session at rest is not kept open: this test sees nothing")
		}
		w.tell("pay")
		w.pass()
		if n := len(w.committed(run.ApprovalAsked)); n != 1 {
			t.Fatalf("%d approvals are asked for, want 1", n)
		}
		if w.fleet.HasLogOpen("ana", key) {
			t.Error("the run waits, and its log is in memory")
		}
		w.tell("approve")
		w.wantReplies("m00", "pay")
	}, has(counter(&paid)))
}

// A firing that was due while the host was down is left out where it is not to be made up for,
// also by a host that died, and so does not believe the server that nothing of it was
// delivered. One that had begun goes on.
func TestMissedFiringAfterACrash(t *testing.T) {
	inCrashWorld(t, func(w *crashWorld) {
		w.model.hold("begun")
		w.fire("begun")
		w.crashIn("begun")
		w.model.hold("begun")
		w.begin()
		w.pass() // its second attempt is in the log
		w.crash()
		w.fire("missed")
		time.Sleep(10 * time.Minute)
		w.begin()
		w.pass()
		var ran []string
		for _, e := range w.committed(run.Started) {
			for _, in := range e.Inputs {
				ran = append(ran, in.ID)
			}
		}
		if !slices.Equal(ran, []string{"begun"}) {
			w.t.Errorf("runs of %q, want that which had begun", ran)
		}
		if n := len(w.committed(run.Finished)); n != 1 {
			w.t.Errorf("%d runs have ended, want 1", n)
		}
		w.settled()
	})
}

// So it is where the run before waits for a person.
func TestMissedFiringBehindAWaitingRun(t *testing.T) {
	var paid atomic.Int64
	inCrashWorld(t, func(w *crashWorld) {
		w.model.call = "pay"
		w.fire("pay")
		w.pass()
		if n := len(w.committed(run.ApprovalAsked)); n != 1 {
			w.t.Fatalf("%d approvals are asked for, want 1", n)
		}
		w.crash()
		w.fire("missed")
		time.Sleep(10 * time.Minute)
		w.begin()
		w.pass()
		if list := w.committed(run.InputAdded); len(list) > 0 {
			w.t.Errorf("%s waits behind the run", list[0].Input.ID)
		}
		w.settled()
	}, has(counter(&paid)))
}

// fire publishes a firing whose text is its id.
func (w *crashWorld) fire(id string) {
	w.t.Helper()
	data, err := json.Marshal(bus.Route{
		ID: id, Kind: bus.RouteSchedule, From: "often", Text: id, Due: time.Now(), Missed: "skip",
		Origin: &bus.Origin{Agent: "ana", Session: "schedule/often", Subject: "plugin.outbound.ana", To: "ana"},
	})
	if err == nil {
		_, err = w.js.Publish(w.t.Context(), "agent.due.ana", data)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// crashIn cuts the host off in the run of a message that the model holds.
func (w *crashWorld) crashIn(id string) {
	w.t.Helper()
	w.pass()
	if w.model.called(id) != 1 {
		w.t.Fatalf("the run of %s has not begun", id)
	}
	w.crash()
}

// Nothing brings an owner to the lost reply of an input that only the log has, so
// the next run does not begin before that reply is stored.
func TestNextRunWaitsForTheReplyToALoggedInput(t *testing.T) {
	inCrashWorld(t, func(w *crashWorld) {
		w.fill(7)
		w.model.hold("m35")
		w.model.release("m00")
		w.pass()
		w.replies.hold()
		w.model.release("m35")
		w.pass()
		if n := len(w.committed(run.Finished)); n != 36 {
			t.Errorf("%d runs are committed, want those up to m35, 36", n)
		}
		if w.model.called("m36") != 0 {
			t.Error("the next run has begun before the reply was stored")
		}
		w.crash()
		w.begin()
		w.wantReplies(messages(0, mailbox+8)...)
	})
}

// A reply is looked for in its stream when that has forgotten its id: a message
// that comes again, however late, is answered once, whether the reply was lost or
// only the acknowledgement.
func TestRepliesOlderThanTheDedupeWindow(t *testing.T) {
	tests := map[string]func(w *crashWorld) *wire{
		"the acknowledgement is lost": func(w *crashWorld) *wire { return w.rest },
		"the reply is lost":           func(w *crashWorld) *wire { return w.replies },
	}
	for name, lost := range tests {
		t.Run(name, func(t *testing.T) {
			inCrashWorld(t, func(w *crashWorld) {
				w.model.hold("m01")
				w.tell("m00", "m01")
				w.pass()
				lost(w).hold()
				w.model.release("m01")
				w.pass()
				if n := len(w.committed(run.Finished)); n != 2 {
					t.Fatalf("%d runs are committed, want 2", n)
				}
				w.crash()
				time.Sleep(bus.DedupeWindow + time.Minute)
				w.begin()
				w.wantReplies("m00", "m01")
				if n := w.model.called("m01"); n != 1 {
					t.Errorf("the model was called %d times, want once", n)
				}
			})
		})
	}
}

// An id that comes again after the window of its stream is found in the log, and
// its reply in the stream of replies.
func TestMessageRepeatedAfterTheDedupeWindow(t *testing.T) {
	inCrashWorld(t, func(w *crashWorld) {
		w.tell("m00")
		w.pass()
		time.Sleep(bus.DedupeWindow + time.Minute)
		w.tell("m00")
		w.wantReplies("m00")
	})
}

// What is collected is one run, whose reply names all that it answers, and of
// which a crash loses none.
func TestCollectedMessagesAreAllAnswered(t *testing.T) {
	collects := func(a *actor) {
		a.cfg.Channels[0] = agents.Binding{Channel: "ana", Queue: session.Collect, Debounce: time.Second}
	}
	tests := map[string]func(w *crashWorld){
		"at once":                     func(*crashWorld) {},
		"after a crash before commit": func(w *crashWorld) { w.commits.hold() },
		"after a crash before reply":  func(w *crashWorld) { w.replies.hold() },
		"after a crash before ack":    func(w *crashWorld) { w.rest.hold() },
	}
	for name, spoil := range tests {
		t.Run(name, func(t *testing.T) {
			inCrashWorld(t, func(w *crashWorld) {
				w.model.hold("m00\nm01\nm02")
				w.tell("m00", "m01", "m02")
				w.pass()
				spoil(w)
				w.model.release("m00\nm01\nm02")
				w.pass()
				if name != "at once" {
					w.crash()
					w.begin()
				}
				out := w.hear()
				if want := []string{"m00", "m01", "m02"}; out.Text != "m00\nm01\nm02" || !slices.Equal(out.Merged, want) {
					t.Errorf("answered %q with %q, want %q in one", out.Merged, out.Text, want)
				}
				w.settled()
				w.pass()
				w.silent()
			}, collects)
		})
	}
}

// After its commit was refused, a run may be what ended the host before: the try
// is in the log before the model is called again. So are the tries of those that
// wait behind it.
func TestRunsAfterAFenceAreCounted(t *testing.T) {
	inCrashWorld(t, func(w *crashWorld) {
		w.model.hold("m00")
		w.tell("m00", "m01")
		w.pass()
		w.commitFromOutside()
		w.model.release("m00")
		w.model.hold("m00")
		w.model.hold("m01")
		for n, id := range []string{"m00", "m01"} {
			w.pass()
			if w.model.called(id) != 2-n {
				t.Fatalf("the model was called %d times with %s", w.model.called(id), id)
			}
			started := w.committed(run.Started)
			if len(started) != n+1 || started[n].Attempt < 2 || started[n].Inputs[0].ID != id {
				t.Errorf("the log has %s, want the second attempt of %s to be the last", describeStarts(started), id)
			}
			w.model.release(id)
		}
		w.wantReplies("m00", "m01", "other")
	})
}

// What was to join a run whose commit was refused joins the next try of it, before what came
// later.
func TestSteeringAfterAFenceKeepsTheOrder(t *testing.T) {
	inCrashWorld(t, func(w *crashWorld) {
		w.model.hold("m00")
		w.tell("m00")
		w.pass()
		w.commitFromOutside()
		w.tell("m01", "m02")
		w.pass()
		w.tell("m03")
		w.pass()
		w.model.release("m00")
		w.pass()
		var joined []string
		for _, e := range w.committed(run.InputAdded) {
			if e.Input.ID != "other" {
				joined = append(joined, e.Input.ID)
			}
		}
		if want := []string{"m01", "m02", "m03"}; !slices.Equal(joined, want) {
			t.Errorf("the run is joined by %v, want %v", joined, want)
		}
	}, func(a *actor) { a.cfg.Session.Queue = session.Steer })
}

// commitFromOutside has another host accept a message into the session.
func (w *crashWorld) commitFromOutside() {
	w.t.Helper()
	w.addFromOutside(run.Event{Type: run.InputAdded, At: time.Now().UTC(), Input: &run.Input{
		ID: "other", Subject: "plugin.inbound.ana", Seq: 3, Envelope: []byte(`{"id":"other","from":"ana","text":"other"}`),
	}})
}

// addFromOutside has another host write events into the log of the session.
func (w *crashWorld) addFromOutside(events ...run.Event) {
	w.t.Helper()
	store := &session.Store{
		Publisher: w.publisher(&wire{server: w.server}), Reader: records.NewReader(w.js), Files: filestore.New(w.js), Limit: 1 << 19,
	}
	log, err := store.Open(w.t.Context(), "ana", session.DM("ana", "", "ana"))
	if err != nil {
		w.t.Fatal(err)
	}
	stored := make(chan error, 1)
	log.Add(w.t.Context(), events, func(err error) { stored <- err })
	if err := <-stored; err != nil {
		w.t.Fatal(err)
	}
}

func describeStarts(events []run.Event) (list []string) {
	for _, e := range events {
		list = append(list, fmt.Sprintf("attempt %d of %s", e.Attempt, e.Inputs[0].ID))
	}
	return list
}

// A question whose host dies takes its default at the deadline, also when its message comes
// again and it is asked once more.
func TestDefaultOfAQuestionOutlivesACrash(t *testing.T) {
	inCrashWorld(t, func(w *crashWorld) {
		w.model.call = "ask_human"
		w.model.hold("ask_human")
		w.tell("ask_human")
		w.pass()
		w.rest.hold() // its acknowledgement is lost
		w.model.release("ask_human")
		w.pass()
		w.expect("question", "Which?")
		w.crash()
		w.begin()
		w.idle(2 * time.Minute)
		results := w.committed(run.ToolFinished)
		if len(results) != 1 || results[0].Result != "green (the default: no answer came before the deadline)" {
			t.Errorf("the model is told %+v, want the default", results)
		}
	}, has(asking(tools.Wait{Question: true, Prompt: "Which?", Default: "green", Timeout: time.Minute})))
}

// A run that waits, and whose question NATS refuses for good on the next host, ends there. What
// waited behind it in the log is answered, to the last message.
func TestInputsBehindAQuestionThatNATSRefuses(t *testing.T) {
	inCrashWorld(t, func(w *crashWorld) {
		w.crash()
		now := time.Now().UTC()
		input := func(id string, seq uint64) run.Input {
			return run.Input{ID: id, Subject: "plugin.inbound.ana", Seq: seq, Envelope: []byte(`{"id":"` + id + `","from":"ana","text":"` + id + `"}`)}
		}
		said := llm.UserText("pay")
		asks := llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Type: llm.ToolCall, Call: "c1", Name: "pay", Args: []byte(`{}`)}}}
		events := []run.Event{
			{Type: run.Started, Run: "r1", Trigger: run.ByMessage, Inputs: []run.Input{input("pay", 1)}},
			{Type: run.MessageAdded, Message: &said},
			{Type: run.MessageAdded, Message: &asks},
			{Type: run.ToolRequested, Call: "c1", Name: "pay", Args: []byte(`{}`)},
			{Type: run.QuestionAsked, Call: "c1", Name: "pay", Prompt: "Which?", Options: []string{strings.Repeat("z", 2<<20)}, Wait: "aaaaaaaaaaaaaaaaaaaaaaaaaa"},
			{Type: run.Suspended, Waiting: []string{"c1"}},
		}
		for i, id := range messages(0, 3) {
			in := input(id, uint64(i+2))
			events = append(events, run.Event{Type: run.InputAdded, Input: &in})
		}
		for i := range events {
			events[i].At = now
		}
		w.addFromOutside(events...)
		w.tell("pay")
		w.begin()
		w.pass()
		w.expect("error", "Something went wrong on my side. Please try again.")
		for _, id := range messages(0, 3) {
			w.pass()
			select {
			case msg := <-w.out:
				if out := (bus.Outbound{}); json.Unmarshal(msg.Data, &out) != nil || out.Text != id {
					t.Errorf("heard %s, want the reply to %s", msg.Data, id)
				}
			default:
				t.Fatalf("%s is not answered", id)
			}
		}
		w.settled()
		w.silent()
	})
}

// A message that has become too old while no host was there is left out, and its sender is told,
// also where a host had begun with it and the conversation is so long that it was to be summed up.
func TestStaleMessageOfALongSessionOutlivesACrash(t *testing.T) {
	inCrashWorld(t, func(w *crashWorld) {
		w.crash()
		long := strings.Repeat("word ", 4<<10)
		asked, said := llm.UserText(long), llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Type: llm.Text, Text: long}}}
		events := []run.Event{}
		for range 12 {
			events = append(events, run.Event{Type: run.MessageAdded, Message: &asked}, run.Event{Type: run.MessageAdded, Message: &said})
		}
		events = append(events, run.Event{Type: run.Started, Run: "r1", Trigger: run.ByMessage, Attempt: 2, Inputs: []run.Input{{
			ID: "m00", Subject: "plugin.inbound.ana", Seq: 1, Envelope: []byte(`{"id":"m00","from":"ana","text":"m00"}`),
		}}}, run.Event{Type: run.MessageAdded, Message: &asked})
		for i := range events {
			events[i].At = time.Now().UTC()
		}
		w.addFromOutside(events...)
		w.tell("m00")
		time.Sleep(2 * time.Hour)
		w.begin()
		w.pass()
		if out := w.hear(); out.Kind != "notice" || !strings.Contains(out.Text, "came while I was away") {
			t.Errorf("heard %s %q, want that the message was left out", out.Kind, out.Text)
		}
		w.settled()
		w.silent()
	}, func(a *actor) { a.cfg.Channels[0].Stale = agents.Stale{After: time.Hour, Do: agents.StaleDrop} })
}
