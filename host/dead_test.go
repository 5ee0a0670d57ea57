package host_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"agenthost/bus"
	"agenthost/client"
	"agenthost/host"
	"agenthost/internal/control"
	"agenthost/internal/waittest"

	"github.com/nats-io/nats.go"
)

// bury lets as many messages die as there are.
func bury(t *testing.T, h *host.Host, messages ...string) {
	t.Helper()
	before := stored(t, h, bus.DeadStream)
	for _, m := range messages {
		if err := h.Bus().NC.Publish("plugin.inbound.demo", []byte(m)); err != nil {
			t.Fatal(err)
		}
	}
	waittest.Until(t, "all dead", func() bool { return stored(t, h, bus.DeadStream) == before+uint64(len(messages)) })
}

func TestDeadLettersByTheService(t *testing.T) {
	t.Parallel()
	h, _ := start(t, demo(t))
	nc := h.Bus().NC
	if answer, _, why := knock(t, nc, control.DeadLettersSubject, ""); answer != `{"letters":[]}` {
		t.Errorf("got %s, %s", answer, why)
	}
	bury(t, h, `{`, `{"a`, "\xff")

	list := control.DeadListing{}
	answerTo(t, nc, control.DeadLettersSubject, control.DeadPage{Agent: "demo", Limit: 2}, &list)
	if len(list.Letters) != 2 || list.After != 2 || list.Letters[0].Reason == "" || list.Letters[0].Payload != "" {
		t.Errorf("first page: got %+v", list)
	}
	list = control.DeadListing{}
	answerTo(t, nc, control.DeadLettersSubject, control.DeadPage{After: 2}, &list)
	if len(list.Letters) != 1 || list.Letters[0].DeadSeq != 3 || list.After != 0 {
		t.Errorf("last page: got %+v", list)
	}
	list = control.DeadListing{}
	answerTo(t, nc, control.DeadLettersSubject, control.DeadPage{Agent: "other"}, &list)
	if len(list.Letters) != 0 {
		t.Errorf("of another agent: got %+v", list)
	}

	letter := client.DeadLetter{}
	answerTo(t, nc, control.ShowDeadSubject, control.DeadNumber{DeadSeq: 2}, &letter)
	if letter.DeadSeq != 2 || letter.Agent != "demo" || letter.Payload != `{"a` {
		t.Errorf("got %+v", letter)
	}

	again := control.DeadOutcome{} // it dies once more
	answerTo(t, nc, control.RetryDeadSubject, control.DeadChoice{DeadSeqs: []uint64{2}}, &again)
	if len(again.Retried) != 1 || again.Retried[0].Subject != "plugin.inbound.demo" || again.Retried[0].Stream != bus.InboundStream {
		t.Errorf("got %+v", again)
	}
	waittest.Until(t, "dead again", func() bool { return stored(t, h, bus.DeadStream) == 3 })

	gone := control.DeadOutcome{}
	answerTo(t, nc, control.PurgeDeadSubject, control.DeadChoice{All: true, DeadPage: control.DeadPage{Limit: 2}}, &gone)
	if fmt.Sprint(gone.Deleted, gone.After) != "[1 3] 3" {
		t.Errorf("got %+v", gone)
	}
	gone = control.DeadOutcome{}
	answerTo(t, nc, control.PurgeDeadSubject, control.DeadChoice{DeadSeqs: []uint64{4}}, &gone)
	if n := stored(t, h, bus.DeadStream); fmt.Sprint(gone.Deleted) != "[4]" || n != 0 {
		t.Errorf("got %+v, %d are left", gone, n)
	}
}

func TestDeadDoorsRefuse(t *testing.T) {
	t.Parallel()
	h, _ := start(t, demo(t))
	nc := h.Bus().NC
	for _, tt := range []struct{ subject, request, code, why string }{
		{control.DeadLettersSubject, `{`, "400", "request: "},
		{control.DeadLettersSubject, `{"agent":"*"}`, "400", `agent "*": want 1 to 63 of`},
		{control.ShowDeadSubject, `{"dead_seq":7}`, "404", "no dead letter 7"},
		{control.ShowDeadSubject, ``, "404", "no dead letter 0"},
		{control.RetryDeadSubject, `{"dead_seqs":[7]}`, "404", "no dead letter 7"},
		{control.RetryDeadSubject, `{}`, "400", "which dead letters?"},
		{control.PurgeDeadSubject, ``, "400", "which dead letters?"},
		{control.PurgeDeadSubject, `{"all":true,"dead_seqs":[1]}`, "400", "either their numbers"},
		{control.PurgeDeadSubject, `{"dead_seqs":[1` + strings.Repeat(",1", 1000) + `]}`, "400", "too many"},
	} {
		if answer, code, why := knock(t, nc, tt.subject, tt.request); code != tt.code || !strings.Contains(why, tt.why) {
			t.Errorf("%s %.40s: got %q, %s, %s", tt.subject, tt.request, answer, code, why)
		}
	}
	if err := h.Bus().JS.DeleteStream(t.Context(), bus.DeadStream); err != nil {
		t.Fatal(err)
	}
	if answer, code, why := knock(t, nc, control.DeadLettersSubject, ""); code != "503" || !strings.Contains(why, "no stream AGENT_DEAD") {
		t.Errorf("without the stream: got %q, %s, %s", answer, code, why)
	}
}

// What cannot be sent again stays, and the others go.
func TestRetryGoesOn(t *testing.T) {
	t.Parallel()
	h, _ := start(t, demo(t))
	nc := h.Bus().NC
	if err := nc.Publish("agent.dead.demo", []byte("garbage")); err != nil {
		t.Fatal(err)
	}
	publishDead(t, nc, bus.DeadLetter{ID: "x", Subject: "plugin.inbound.demo", Payload: `{"from":"ana","text":"hello"}`})
	waittest.Until(t, "both are there", func() bool { return stored(t, h, bus.DeadStream) == 2 })
	out := outbound(t, nc, 1)
	got := control.DeadOutcome{}
	answerTo(t, nc, control.RetryDeadSubject, control.DeadChoice{All: true}, &got)
	if len(got.Retried) != 1 || got.Retried[0].DeadSeq != 2 || len(got.Failed) != 1 || got.Failed[0].DeadSeq != 1 ||
		!strings.Contains(got.Failed[0].Error, "does not name the subject") {
		t.Errorf("got %+v", got)
	}
	if r := out()[0]; r.Text != "hello" {
		t.Errorf("got %+v", r)
	}
}

// An answer that would not fit into a message is a page, or lacks the message.
func TestDeadLettersThatAreLarge(t *testing.T) {
	t.Parallel()
	h, _ := start(t, demo(t))
	nc := h.Bus().NC
	for n := range 3 {
		publishDead(t, nc, bus.DeadLetter{ID: fmt.Sprint(n), Subject: "s", Reason: strings.Repeat("r", 400<<10)})
	}
	publishDead(t, nc, bus.DeadLetter{ID: "x", Subject: "s", Payload: strings.Repeat("p", 1<<20-150)})
	waittest.Until(t, "all are there", func() bool { return stored(t, h, bus.DeadStream) == 4 })
	list := control.DeadListing{}
	answerTo(t, nc, control.DeadLettersSubject, control.DeadPage{}, &list)
	if len(list.Letters) != 2 || list.After != 2 {
		t.Errorf("got %d letters, after %d", len(list.Letters), list.After)
	}
	letter := client.DeadLetter{}
	answerTo(t, nc, control.ShowDeadSubject, control.DeadNumber{DeadSeq: 4}, &letter)
	if !letter.Omitted || letter.Payload != "" {
		t.Errorf("got %.200s", fmt.Sprintf("%+v", letter))
	}
}

func publishDead(t *testing.T, nc *nats.Conn, l bus.DeadLetter) {
	t.Helper()
	data, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	if err := nc.Publish(bus.DeadSubject("demo"), data); err != nil {
		t.Fatal(err)
	}
}
