package doors_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/doors"
	"agenthost/doors/doorstest"
	"agenthost/host"
	"agenthost/internal/waittest"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"
)

func TestMain(m *testing.M) {
	host.Begin()
	bustest.ManyAtOnce()
	m.Run()
}

func desk(t *testing.T, h *doorstest.Host) *doors.Desk {
	t.Helper()
	d := doors.NewDesk(h.Client, bus.DoorOpenAI, zerolog.Nop())
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = d.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	return d
}

func send(t *testing.T, d *doors.Desk, r doors.Request) *doors.Exchange {
	t.Helper()
	r.Agent = "ana"
	e, err := d.Send(bustest.Context(t), r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

func final(t *testing.T, e *doors.Exchange) bus.Outbound {
	t.Helper()
	out, err := e.Final(bustest.Context(t))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestAMessageIsAnswered(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, "")
	d := desk(t, h)
	for _, tt := range []struct {
		request doors.Request
		session string
	}{
		{doors.Request{}, "openai/dm/anonymous"},
		{doors.Request{From: "bo"}, "openai/dm/bo"},
		{doors.Request{From: "bo", Conversation: "c/1"}, "openai/dm/c%2F1"},
		{doors.Request{From: "bo", Conversation: "c", Instance: "ci"}, "openai.ci/dm/c"},
	} {
		tt.request.Text = "hi"
		e := send(t, d, tt.request)
		out := final(t, e)
		if out.Text != "ana: hi" || out.Session != tt.session || e.Session() != tt.session || out.InReplyTo != e.ID {
			t.Errorf("got %+v, want session %s", out, tt.session)
		}
	}
}

// Sent again, also at another desk, a message gets the reply that it has.
// The connection is gone between a message and the look at what comes of it.
func TestAnswerIsFollowedWhileNATSIsAway(t *testing.T) {
	t.Parallel()
	url, srv := bustest.Server(t)
	cfg := doorstest.Config(t, "")
	cfg.NATS = bus.Config{URL: url}
	h := doorstest.Serve(t, cfg)
	d := desk(t, h)
	e := send(t, d, doors.Request{Conversation: "c", Text: "hello"})
	waittest.Until(t, "the answer", func() bool { _, ok := d.EndOf(e.Place(), e.ID); return ok })
	srv.Stop()
	defer srv.Start()
	waittest.Until(t, "the connection is gone", func() bool { return !h.NC.IsConnected() })
	if out := final(t, e); out.Text != "ana: hello" {
		t.Errorf("got %+v", out)
	}
}

func TestAMessageSentAgain(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, "")
	d := desk(t, h)
	r := doors.Request{ID: "1", From: "bo", Text: "hi"}
	first := final(t, send(t, d, r))
	if again := send(t, d, r); !again.Repeated {
		t.Error("it is not known to be a repeat")
	} else if diff := cmp.Diff(first, final(t, again)); diff != "" {
		t.Errorf("again (-first +again):\n%s", diff)
	}
	if diff := cmp.Diff(first, final(t, send(t, desk(t, h), r))); diff != "" {
		t.Errorf("at another desk (-first +again):\n%s", diff)
	}
	e, err := d.Join(t.Context(), r.Place(), "")
	if err == nil {
		defer e.Close()
	}
	if n := h.Inbound(t); n != 1 {
		t.Errorf("%d messages are stored, want 1", n)
	}
}

// A message whose end no desk remembers has it from the log.
func TestTheEndOfAMessageIsInTheLog(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, "")
	r := doors.Request{Agent: "ana", ID: "1", From: "bo", Text: "hi"}
	first := final(t, send(t, desk(t, h), r))
	// A desk that does not run hears nothing.
	e, err := doors.NewDesk(h.Client, bus.DoorOpenAI, zerolog.Nop()).Join(t.Context(), r.Place(), r.ID)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	if diff := cmp.Diff(first, final(t, e)); diff != "" {
		t.Errorf("from the log (-first +again):\n%s", diff)
	}
}

// What the run waits for is told to who comes again, and may be answered by it.
func TestApprovalByWhoComesAgain(t *testing.T) {
	t.Parallel()
	cfg := doorstest.Config(t, "")
	h := doorstest.Serve(t, cfg)
	r := doors.Request{Agent: "ana", ID: "1", From: "bo", Conversation: "c", Text: "write"}
	asked := func(d *doors.Desk) (*doors.Exchange, *bus.Outbound) {
		e := send(t, d, r)
		for ev, err := range e.Events(bustest.Context(t)) {
			if err != nil {
				t.Fatal(err)
			}
			if ev.Out != nil {
				return e, ev.Out
			}
		}
		return nil, nil
	}
	_, first := asked(desk(t, h))
	if first.Kind != bus.KindApproval {
		t.Fatalf("got %+v", first)
	}
	h.Stop()
	h = doorstest.Serve(t, cfg)
	e, again := asked(desk(t, h))
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("after a restart (-first +again):\n%s", diff)
	}
	if err := e.Answer(t.Context(), again.Call, "approve"); err != nil {
		t.Fatal(err)
	}
	if out := final(t, e); !strings.HasPrefix(out.Text, "done: ") {
		t.Errorf("got %+v", out)
	}
}

func TestTextAsItIsWritten(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, "")
	e := send(t, desk(t, h), doors.Request{Text: "story"})
	var text doors.Text
	said := ""
	for ev, err := range e.Events(bustest.Context(t)) {
		switch {
		case err != nil:
			t.Fatal(err)
		case ev.Chunk != nil:
			said += text.Chunk(*ev.Chunk)
		case ev.Out != nil:
			said += text.End(ev.Out.Text)
		}
	}
	if said != "Once upon a time." {
		t.Errorf("got %q", said)
	}
}

func TestAgentsOfADoor(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, "")
	list, err := desk(t, h).Agents(t.Context())
	if diff := cmp.Diff([]doors.Agent{{ID: "ana", Description: "Helps."}}, list); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestWhatIsNoMessage(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, "")
	d := desk(t, h)
	for name, r := range map[string]doors.Request{
		"no text":     {},
		"no UTF-8":    {Text: "\xff"},
		"a long id":   {Text: "x", ID: strings.Repeat("x", 300)},
		"a long text": {Text: strings.Repeat("x", 2<<20)},
	} {
		r.Agent = "ana"
		if _, err := d.Send(bustest.Context(t), r); !errors.Is(err, bus.ErrMalformed) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	h.Stop()
	if _, err := d.Send(bustest.Context(t), doors.Request{Agent: "ana", Text: "x"}); !errors.Is(err, doors.ErrAway) {
		t.Errorf("without NATS: got %v", err)
	}
}

// An answer that is not taken is told to who gave it.
func TestAnAnswerThatIsRefused(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, "")
	e := send(t, desk(t, h), doors.Request{Text: "write"})
	refused, call := false, ""
	for ev, err := range e.Events(bustest.Context(t)) {
		answer := ""
		switch {
		case err != nil:
			t.Fatal(err)
		case ev.Refused != nil:
			refused = true
			answer = "deny"
		case ev.Out != nil && ev.Out.Kind == bus.KindApproval:
			call, answer = ev.Out.Call, "approve always" // which is the operator's to say
		}
		if answer != "" {
			if err := e.Answer(t.Context(), call, answer); err != nil {
				t.Fatal(err)
			}
		}
	}
	if !refused {
		t.Error("it was not told")
	}
}

func TestWhatWaitsInASession(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, "")
	d := desk(t, h)
	for name, tt := range map[string]struct {
		text string
		want int
	}{"nothing": {"hi", 0}, "an approval": {"write", 1}, "a question": {"colour", 1}} {
		e := send(t, d, doors.Request{Conversation: name, Text: tt.text})
		for ev, err := range e.Events(bustest.Context(t)) {
			if err != nil {
				t.Fatal(err)
			}
			if ev.Out != nil {
				break
			}
		}
		list, err := d.Waiting(t.Context(), e.Place())
		if err != nil || len(list) != tt.want || tt.want > 0 && list[0].Origin.ReplyTo != e.ID {
			t.Errorf("%s: got %+v, %v", name, list, err)
		}
	}
}

// What comes by a door has to say whom it is for.
func TestAMessageForNobody(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, "")
	answers, err := h.NC.SubscribeSync("plugin.outbound.openai")
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range []bus.Inbound{{ID: "1", Agent: "shy", Text: "x"}, {ID: "2", Text: "x"}, {ID: "3", Agent: "ana", Text: "x"}} {
		msg, err := bus.NewMessage("plugin.inbound.openai", in)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.Client.JetStream().PublishMsg(t.Context(), msg); err != nil {
			t.Fatal(err)
		}
	}
	got := map[string]string{}
	for len(got) < 2 {
		msg, err := answers.NextMsgWithContext(bustest.Context(t))
		if err != nil {
			t.Fatal(err)
		}
		var out bus.Outbound
		if err := json.Unmarshal(msg.Data, &out); err != nil {
			t.Fatal(err)
		}
		got[out.InReplyTo] = out.Kind + " of " + out.Agent
	}
	if diff := cmp.Diff(map[string]string{"2": "error of unbound", "3": "reply of ana"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// An invalid answer is refused, also when it comes again, and the next one counts.
func TestAnswerThatIsNone(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, "")
	e := send(t, desk(t, h), doors.Request{Text: "colour"})
	var refused []string
	call, tries := "", []string{"green", "green", "Blue"}
	answer := func() {
		text := tries[0]
		tries = tries[1:]
		if err := e.AnswerAs(t.Context(), "answer-"+text, call, text); err != nil {
			t.Fatal(err)
		}
	}
	for ev, err := range e.Events(bustest.Context(t)) {
		switch {
		case err != nil:
			t.Fatal(err)
		case ev.Out != nil && ev.Out.Kind == bus.KindQuestion:
			call = ev.Out.Call
			answer()
		case ev.Refused != nil:
			refused = append(refused, ev.Refused.Text)
			answer()
		case ev.Out != nil && ev.Out.Final && ev.Out.Text != "You like Blue.":
			t.Errorf("got %+v", ev.Out)
		}
	}
	if len(refused) != 2 || refused[0] != refused[1] || !strings.Contains(refused[0], "Red, Blue") {
		t.Errorf("got %q", refused)
	}
}
