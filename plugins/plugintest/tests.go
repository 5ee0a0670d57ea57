package plugintest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/plugins"
	"agenthost/plugins/settings"

	"github.com/google/go-cmp/cmp"
)

func testEcho(t *testing.T, w *world) {
	w.start()
	w.write("hello")
	w.says(Direct, "echo hello")
	in := w.agent.inbound()[0]
	if in.ID == "" || in.From == "" || in.Group || in.Text != "hello" {
		t.Errorf("the agent got %+v", in)
	}
	w.settled()
}

func testTwice(t *testing.T, w *world) {
	w.start()
	w.write("once")
	w.says(Direct, "echo once")
	w.platform.Repeat()
	w.write("then")
	w.says(Direct, "echo once", "echo then")
	if n := len(w.agent.inbound()); n != 2 {
		t.Errorf("the agent got %d messages, want 2: %+v", n, w.agent.inbound())
	}
}

func testOrder(t *testing.T, w *world) {
	w.start()
	var want []string
	for i := range 10 {
		text := fmt.Sprintf("message number %d.", i)
		w.write(text)
		want = append(want, "echo "+text)
	}
	w.says(Direct, want...)
}

var numberedWord = regexp.MustCompile(`word\d{5}`)

func testLong(t *testing.T, w *world) {
	w.start()
	const n = 2000 // 20,000 characters
	w.write(fmt.Sprintf("long %d", n))
	last := fmt.Sprintf("word%05d", n-1)
	shown := func() (words []string) {
		for _, m := range w.platform.Sent(Direct) {
			words = append(words, numberedWord.FindAllString(m.Text, -1)...)
		}
		return words
	}
	bustest.Eventually(t, "the end of the text", func() bool {
		words := shown()
		return len(words) > 0 && words[len(words)-1] == last
	})
	if diff := cmp.Diff(numberedWord.FindAllString(longText(n), -1), shown()); diff != "" {
		t.Error(diff)
	}
	w.settled()
}

func testGroup(t *testing.T, w *world) {
	w.start()
	w.platform.Write(Written{Chat: Group, Text: "among us"})
	w.platform.Write(Written{Chat: Group, Other: true, Mention: true, Text: "to you"})
	bustest.Eventually(t, "a message of the group", func() bool { return len(w.agent.inbound()) > 0 })
	in := w.agent.inbound()[0]
	if !in.Group || in.Chat == "" || in.Text != "to you" { // an order or an answer stands alone
		t.Errorf("the agent got %+v", in)
	}
	bustest.Eventually(t, "the reply in the group", func() bool {
		sent := w.platform.Sent(Group)
		return len(sent) == 1 && strings.Contains(sent[0].Text, "to you")
	})
	if direct := w.platform.Sent(Direct); len(direct) > 0 {
		t.Errorf("in the direct chat: %+v", direct)
	}
}

func testGroupAll(t *testing.T, w *world) {
	w.suite.Account.Groups = settings.GroupsAll
	w.start()
	w.platform.Write(Written{Chat: Group, Text: "among us"})
	w.says(Group, "among us")
	w.platform.Write(Written{Chat: Group, Other: true, Text: "me too"})
	bustest.Eventually(t, "both messages", func() bool { return len(w.agent.inbound()) == 2 })
	if in := w.agent.inbound(); in[0].Chat != in[1].Chat || in[0].From == in[1].From {
		t.Errorf("two persons in one group: the agent got %+v", in)
	}
}

func testRateLimit(t *testing.T, w *world) {
	w.start()
	w.platform.RateLimit(retryWait)
	w.write("one")
	w.write("two")
	w.says(Direct, "echo one", "echo two")
	w.settled()
}

func testRefusal(t *testing.T, w *world) {
	w.start()
	w.platform.Refuse()
	w.write("refused")
	letters := w.deadLetters(1)
	if l := letters[0]; l.Code != "undeliverable" || l.Agent != agentID || l.Reason == "" || !strings.Contains(l.Payload, "refused") {
		t.Errorf("dead letter: %+v", l)
	}
	w.write("taken")
	w.says(Direct, "echo taken")
	w.settled()
}

func testFailure(t *testing.T, w *world) {
	w.start()
	w.platform.Fail()
	w.write("one")
	w.write("two")
	w.says(Direct, "echo one", "echo two")
	w.settled()
}

func testReconnect(t *testing.T, w *world) {
	w.start()
	w.write("one")
	w.says(Direct, "echo one")
	// A platform that knows no ids may get again what it had not confirmed.
	bustest.Eventually(t, "the reply is confirmed", func() bool { return w.courier.Status().Out == 1 })
	since := w.courier.Status().Since
	w.platform.Disconnect()
	w.write("two")
	w.says(Direct, "echo one", "echo two")
	bustest.Eventually(t, "it is connected again", func() bool {
		s := w.courier.Status()
		return s.State == plugins.StateConnected && !s.Since.Before(since)
	})
}

func testFileIn(t *testing.T, w *world) {
	w.start()
	data := bytes.Repeat([]byte("0123456789"), 100)
	w.platform.Write(Written{Chat: Direct, Text: "look", File: &plugins.File{Name: "digits.txt", MIME: "text/plain", Data: data}})
	bustest.Eventually(t, "a message with a file", func() bool {
		in := w.agent.inbound()
		return len(in) > 0 && len(in[len(in)-1].Media) == 1
	})
	in := w.agent.inbound()
	m := in[len(in)-1].Media[0]
	got, err := w.parts.Files.Get(t.Context(), m.Object)
	if err != nil {
		t.Fatalf("file %+v: %v", m, err)
	}
	if !bytes.Equal(got, data) || m.Size != int64(len(data)) {
		t.Errorf("file %+v: got %d bytes, want %d", m, len(got), len(data))
	}
}

func testFileOut(t *testing.T, w *world) {
	w.start()
	w.write("file")
	if w.limits.Whole {
		bustest.Eventually(t, "the reply", func() bool { return len(w.platform.Sent(Direct)) > 0 })
		return
	}
	shows := func(ok func(Sent) bool) func() bool {
		return func() bool {
			return slices.ContainsFunc(w.platform.Sent(Direct), ok)
		}
	}
	bustest.Eventually(t, "the text beside the file", shows(func(m Sent) bool { return strings.Contains(m.Text, "here it is") }))
	if w.limits.File == 0 {
		bustest.Eventually(t, "the name of the file", shows(func(m Sent) bool { return strings.Contains(m.Text, "notes.txt") }))
		return
	}
	bustest.Eventually(t, "the file", shows(func(m Sent) bool { return m.Name == "notes.txt" && string(m.File) == "some content" }))
}

func testApproval(t *testing.T, w *world) {
	w.start()
	w.write("approve? now")
	w.says(Direct, "May I?")
	if w.limits.Buttons > 0 && w.platform.Press != nil {
		w.platform.Press(Direct, "approve")
	} else {
		w.write("approve") // as the text says
	}
	w.says(Direct, "May I?", "answered approve to "+callID())
	w.settled()
}

// silent is a channel that keeps to itself what the platform has taken: the host is
// killed at that moment. Nothing goes out any more then.
type silent struct {
	plugins.Channel
	taken  chan struct{}
	killed chan struct{}
}

func (s *silent) Deliver(ctx context.Context, m plugins.Message) (string, error) {
	select {
	case <-s.killed:
		return "", errKilled
	default:
	}
	id, err := s.Channel.Deliver(ctx, m)
	if err != nil {
		return id, err
	}
	select {
	case s.taken <- struct{}{}:
	default:
	}
	<-s.killed
	return "", errKilled
}

var errKilled = errors.New("the host is killed")

func testKilledBeforeAck(t *testing.T, w *world) {
	s := &silent{taken: make(chan struct{}, 1), killed: make(chan struct{})}
	w.start(func(c plugins.Channel) plugins.Channel { s.Channel = c; return s })
	w.write("one")
	<-s.taken
	close(s.killed)
	w.stop()
	w.start()
	w.write("two")
	bustest.Eventually(t, "the next reply", func() bool { return strings.Contains(fmt.Sprint(w.platform.Sent(Direct)), "echo two") })
	w.settled()
	n := strings.Count(fmt.Sprint(w.platform.Sent(Direct)), "echo one")
	if n < 1 || n > 2 || n == 2 && w.limits.Idempotent {
		t.Errorf("the message under way came %d times; does the platform know it by its key: %t", n, w.limits.Idempotent)
	}
}

func testStopped(t *testing.T, w *world) {
	w.start()
	w.write("one")
	w.says(Direct, "echo one")
	w.settled()
	w.stop()
	w.start()
	w.write("two")
	w.says(Direct, "echo one", "echo two")
	w.settled()
}

func testReplyWhileAway(t *testing.T, w *world) {
	w.start()
	w.write("one")
	w.says(Direct, "echo one")
	w.settled()
	w.stop()
	in := w.agent.inbound()[0]
	for i := range 3 {
		w.agent.send(in, bus.Outbound{Kind: bus.KindNotice, Text: fmt.Sprintf("notice %d.", i)})
	}
	w.start()
	w.says(Direct, "echo one", "notice 0.", "notice 1.", "notice 2.")
	w.settled()
}

func testNotTaken(t *testing.T, w *world) {
	w.start() // an account reads nothing that is older than its first login
	w.write("first")
	w.says(Direct, "echo first")
	w.stop()
	w.startUnable()
	w.write("not yet")
	w.stop()
	if in := w.agent.inbound(); len(in) > 1 {
		t.Fatalf("the agent got %+v, though nothing can be stored", in)
	}
	w.start()
	w.says(Direct, "echo first", "echo not yet")
	w.write("then")
	w.says(Direct, "echo first", "echo not yet", "echo then")
}

func testTyping(t *testing.T, w *world) {
	w.start()
	w.write("think")
	bustest.Eventually(t, "the chat shows typing", func() bool { return w.platform.Typing(Direct) })
	w.write("now")
	w.says(Direct, "echo now")
}

func testPreview(t *testing.T, w *world) {
	w.suite.Account.Stream = true
	w.start()
	w.write("think")
	bustest.Eventually(t, "the message", func() bool { return len(w.agent.inbound()) == 1 })
	in := w.agent.inbound()[0]
	bustest.Eventually(t, "the chat shows what is written so far", func() bool {
		w.agent.write(in, "slow", "Once upon") // the subscription may have come later
		return strings.Contains(w.platform.Preview(Direct), "Once upon")
	})
	w.agent.send(in, bus.Outbound{Run: "slow", Kind: bus.KindReply, Final: true, InReplyTo: in.ID, Text: "Once upon a time."})
	w.says(Direct, "Once upon a time.")
	bustest.Eventually(t, "the reply takes the place of the preview", func() bool { return w.platform.Preview(Direct) == "" })
	w.settled()
}
