package agentprotocol_test

import (
	"context"
	"encoding/base64"
	"os"
	"strings"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/filestore"
	"agenthost/client"
	"agenthost/doors"
	"agenthost/doors/agentprotocol"
	"agenthost/doors/doorstest"
	"agenthost/run"

	"github.com/rs/zerolog"
)

// serve serves ana a second time, for the owner test, with short times.
func serve(t *testing.T, h *doorstest.Host, every time.Duration) (stop func()) {
	t.Helper()
	desk := doors.NewDesk(h.Client, bus.DoorNATS, zerolog.Nop())
	s := agentprotocol.New(agentprotocol.Options{
		Desk: desk, Files: filestore.New(h.Client.JetStream()), Owner: "test", Version: "nightly", Log: zerolog.Nop(),
		Agents: func() []doors.Agent { return []doors.Agent{{ID: "ana"}} }, BeatEvery: every, AckEvery: every, QueryWithin: every,
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{}, 2)
	go func() { _ = desk.Run(ctx); done <- struct{}{} }()
	go func() { _ = s.Run(ctx); done <- struct{}{} }()
	bustest.Eventually(t, "it serves", func() bool {
		_, err := h.NC.RequestWithContext(bustest.Context(t), "agents.status.agenthost.test.ana", nil)
		return err == nil
	})
	stopped := false
	stop = func() {
		if !stopped {
			stopped = true
			cancel()
			<-done
			<-done
		}
	}
	t.Cleanup(stop)
	return stop
}

// events are those of the log of a session.
func events(t *testing.T, c *client.Client, session string) (list []client.SessionEvent) {
	t.Helper()
	sid, err := client.SessionID("ana", session)
	if err != nil {
		t.Fatal(err)
	}
	for f, err := range c.Sessions().History(t.Context(), "ana", sid, 1) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, f.Event)
	}
	return list
}

func TestSessions(t *testing.T) {
	t.Parallel()
	h, c := start(t, "")
	for range 2 {
		wantText(c, c.prompt(promptSubject, `{"prompt":"hi","session":"mine","more":"kept"}`), "ana: hi")
	}
	n := 0
	for _, e := range events(t, h.Client, "nats/dm/mine") {
		if e.Type == run.Started {
			n++
			if !strings.Contains(string(e.Inputs[0].Envelope), `"more":"kept"`) {
				t.Errorf("got %s", e.Inputs[0].Envelope)
			}
		}
	}
	if n != 2 {
		t.Errorf("the session has %d runs, want 2", n)
	}
}

// A prompt with an id is handled once, however often it comes.
func TestAPromptSentAgain(t *testing.T) {
	t.Parallel()
	h, c := start(t, "")
	for range 3 {
		wantText(c, c.prompt(promptSubject, "hi", "Nats-Msg-Id", "one"), "ana: hi")
	}
	if n := h.Inbound(t); n != 1 {
		t.Errorf("%d messages are stored, want 1", n)
	}
}

// What is attached is kept, and what an agent attaches comes with the answer.
func TestAttachments(t *testing.T) {
	t.Parallel()
	cfg := doorstest.Config(t, "")
	const script = `
rules:
  - {is: large, text: "See:", media: [{mime: text/plain, name: big.txt, base64: "` + "%" + `"}]}
  - {text: "See:", media: [{mime: text/plain, name: a.txt, base64: aGVsbG8=}]}
`
	content := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", 900<<10)))
	writeScript(t, cfg.Models["main"].Script, strings.Replace(script, "%", content, 1))
	h := doorstest.Serve(t, cfg)
	c := caller{t, h.NC}
	frames := c.prompt(promptSubject, `{"prompt":"hi","session":"s","attachments":[{"filename":"../b.txt","content":"aGk="}]}`).all()
	if got := string(frames[len(frames)-2].Data); got != `{"text":"","attachments":[{"filename":"a.txt","content":"aGVsbG8="}]}` || said(frames) != "See:" {
		t.Errorf("got %s and %q", got, said(frames))
	}
	for _, e := range events(t, h.Client, "nats/dm/s") {
		if e.Type == run.Started && !strings.Contains(string(e.Inputs[0].Envelope), `"name":"b.txt"`) {
			t.Errorf("got %s", e.Inputs[0].Envelope)
		}
	}
	if text := said(c.prompt(promptSubject, "large").all()); !strings.Contains(text, "big.txt (921600 bytes) is the object ") {
		t.Errorf("got %q", text)
	}
}

// A long text comes in pieces that NATS takes.
func TestLongText(t *testing.T) {
	t.Parallel()
	_, c := start(t, "")
	long := strings.Repeat("ä", 300<<10)
	wantText(c, c.prompt(promptSubject, long), "ana: "+long)
}

// A host that stops says so to those who wait.
func TestStop(t *testing.T) {
	t.Parallel()
	h, c := start(t, "")
	stop := serve(t, h, time.Hour)
	a := c.prompt("agents.prompt.agenthost.test.ana", "endless")
	a.next()
	stop()
	frames := a.all()
	if f := frames[len(frames)-2]; f.code != "500" || !strings.Contains(f.body, `"retry_after_s":`) {
		t.Errorf("got %+v", f)
	}
}

// Instances of the same agent share the work.
func TestSeveralHosts(t *testing.T) {
	t.Parallel()
	h, c := start(t, "")
	serve(t, h, time.Hour)
	serve(t, h, time.Hour)
	var answers []answer
	for range 20 {
		answers = append(answers, c.prompt("agents.prompt.agenthost.test.ana", "hi"))
	}
	for _, a := range answers {
		wantText(c, a, "ana: hi")
	}
	if n := h.Inbound(t); n != 20 {
		t.Errorf("%d messages are stored, want 20", n)
	}
}

func writeScript(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A run that is stopped ends its prompt with a conflict.
func TestStoppedRun(t *testing.T) {
	t.Parallel()
	h, c := start(t, "")
	a := c.prompt(promptSubject, `{"prompt":"endless","session":"mine"}`)
	bustest.Eventually(t, "it is stopped", func() bool { // once it has begun
		_, err := h.Client.Abort(t.Context(), client.Stop{Agent: "ana", Session: "nats/dm/mine", By: "bo"}, 0)
		return err == nil
	})
	frames := a.all()
	f := frames[len(frames)-2]
	if f.code != "409" || !strings.Contains(f.body, `"error":"cancelled"`) || said(frames) != "" {
		t.Errorf("got %+v", frames)
	}
}
