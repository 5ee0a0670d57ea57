//go:build unix && long

package chaos_test

import (
	"encoding/json"
	"testing"

	"agenthost/bus"
	"agenthost/run"
	"agenthost/session"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A history is what the streams hold after a conversation of three messages:
// one answered, two answered together.
type history struct {
	said    map[string]statement
	answers []bus.Outbound
	commits []session.Commit
	letters []bus.DeadLetter
}

func goodHistory() *history {
	h := &history{said: map[string]statement{
		"1": {channel: chat, from: "ana", n: 1, text: "one"},
		"2": {channel: chat, from: "ana", n: 2, text: "two"},
		"3": {channel: chat, from: "ana", n: 3, text: "three"},
	}}
	h.reply("r1", bus.Outbound{ID: "r1.1", Text: "one", InReplyTo: "1"}, "1")
	h.reply("r2", bus.Outbound{ID: "r2.1", Text: "two\nthree", InReplyTo: "3", Merged: []string{"2", "3"}}, "2", "3")
	return h
}

// reply adds a run of inputs and its answer.
func (h *history) reply(id string, out bus.Outbound, inputs ...string) {
	out.Kind, out.Final, out.To = bus.KindReply, true, "ana"
	h.answers = append(h.answers, out)
	started := run.Event{Type: run.Started, Run: id}
	for _, in := range inputs {
		started.Inputs = append(started.Inputs, run.Input{ID: in, Envelope: json.RawMessage("{}")})
	}
	h.commits = append(h.commits, session.Commit{Run: id, Events: []run.Event{
		started, {Type: run.Replied, Reply: &run.Reply{ID: out.ID, Subject: "plugin.outbound.chat"}}, {Type: run.Finished, Run: id},
	}})
}

// stored are messages as their stream holds them.
func stored[T any](t *testing.T, subject string, list []T, id func(T) string) []*jetstream.RawStreamMsg {
	t.Helper()
	var msgs []*jetstream.RawStreamMsg
	for i, v := range list {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		msgs = append(msgs, &jetstream.RawStreamMsg{
			Subject: subject, Sequence: uint64(i + 1), Data: data, Header: nats.Header{nats.MsgIdHdr: {id(v)}},
		})
	}
	return msgs
}

// refuse has 2 refused, and 3 answered alone.
func (h *history) refuse(id string, refusable bool) {
	s := h.said[id]
	s.refusable = refusable
	h.said[id] = s
	h.answers, h.commits = h.answers[:1], h.commits[:1]
	h.reply("r2", bus.Outbound{ID: "r2.1", Text: "three", InReplyTo: "3"}, "3")
	h.answers = append(h.answers, bus.Outbound{ID: "e2.1", Kind: bus.KindError, Final: true, To: "ana", InReplyTo: id})
}

func TestFindFaults(t *testing.T) {
	tests := map[string]struct {
		change func(*history)
		want   []string
	}{
		"none": {func(*history) {}, nil},
		"none in a notice": {
			func(h *history) {
				h.answers = append(h.answers, bus.Outbound{ID: "n", Kind: bus.KindNotice, InReplyTo: "3"})
			}, nil,
		},
		"a notice twice": {
			func(h *history) {
				notice := bus.Outbound{ID: "n", Kind: bus.KindNotice, InReplyTo: "3"}
				h.answers = append(h.answers, notice, notice)
			},
			[]string{"outbound n is stored 2 times"},
		},
		"none in an error where there is no room": {
			func(h *history) { h.refuse("2", true) }, nil,
		},
		"an error where there is room": {
			func(h *history) { h.refuse("2", false) },
			[]string{
				"chat ana: message 2 is answered after message 3",
				"outbound e2.1 on plugin.outbound.chat to ana is of kind error, final true; want a final reply to chat ana",
				"outbound e2.1 is in no log",
			},
		},
		"an error besides an answer": {
			func(h *history) {
				h.refuse("2", true)
				h.reply("r3", bus.Outbound{ID: "r3.1", Text: "two", InReplyTo: "2"}, "2")
			},
			[]string{"chat ana: message 2 is answered after message 3", "message 2 is answered 2 times"},
		},
		"lost": {
			func(h *history) { h.answers, h.commits = h.answers[:1], h.commits[:1] },
			[]string{"message 2 is answered 0 times", "message 3 is answered 0 times"},
		},
		"answered twice": {
			func(h *history) { h.reply("r3", bus.Outbound{ID: "r3.1", Text: "three", InReplyTo: "3"}, "3") },
			[]string{"message 3 is in the runs r2 and r3", "message 3 is answered 2 times"},
		},
		"published twice": {
			func(h *history) { h.answers = append(h.answers, h.answers[1]) },
			[]string{
				"chat ana: message 2 is answered after message 3", "message 2 is answered 2 times",
				"message 3 is answered 2 times", "outbound r2.1 is stored 2 times",
			},
		},
		"out of order": {
			func(h *history) { h.answers[0], h.answers[1] = h.answers[1], h.answers[0] },
			[]string{"chat ana: message 1 is answered after message 3"},
		},
		"wrong text": {
			func(h *history) { h.answers[0].Text = "two" },
			[]string{`outbound r1.1 says "two", want "one"`},
		},
		"wrong person": {
			func(h *history) { h.answers[0].To = "eve" },
			[]string{"outbound r1.1 on plugin.outbound.chat to eve is of kind reply, final true; want a final reply to chat ana"},
		},
		"an error instead": {
			func(h *history) { h.answers[0].Kind = bus.KindError },
			[]string{"outbound r1.1 on plugin.outbound.chat to ana is of kind error, final true; want a final reply to chat ana"},
		},
		"an answer to nothing": {
			func(h *history) { h.reply("r3", bus.Outbound{ID: "r3.1", InReplyTo: "4"}, "4") },
			[]string{`outbound r3.1 answers "4", which nobody said`},
		},
		"not published": {
			func(h *history) { h.answers = h.answers[1:] },
			[]string{"message 1 is answered 0 times", "reply r1.1 is in a log and was not published"},
		},
		"not logged": {
			func(h *history) { h.commits = h.commits[1:] },
			[]string{"outbound r1.1 is in no log"},
		},
		"ended twice": {
			func(h *history) {
				h.commits = append(h.commits, session.Commit{Run: "r1", Events: []run.Event{{Type: run.Finished}}})
			},
			[]string{"run r1 has ended 2 times"},
		},
		"never ended": {
			func(h *history) {
				h.commits = append(h.commits, session.Commit{Run: "r3", Events: []run.Event{{Type: run.Started, Run: "r3"}}})
			},
			[]string{"run r3 has ended 0 times"},
		},
		"dead": {
			func(h *history) { h.letters = []bus.DeadLetter{{ID: "d", Reason: "why", Payload: `{"id":"1"}`}} },
			[]string{`dead letter d of message "1", reason "why"`},
		},
		"not dead": {
			func(h *history) {
				h.said["1"], h.answers[0].Kind = statement{channel: chat, from: "ana", n: 1, fatal: true}, bus.KindError
			},
			[]string{"message 1 is no dead letter"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			h := goodHistory()
			tt.change(h)
			got := findFaults(h.said,
				stored(t, "plugin.outbound.chat", h.answers, func(out bus.Outbound) string { return out.ID }),
				stored(t, "agent.session.ana.x", h.commits, func(session.Commit) string { return "" }),
				stored(t, "agent.dead.ana", h.letters, func(bus.DeadLetter) string { return "" }))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
}
