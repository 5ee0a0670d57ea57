//go:build interop

package slack_test

import (
	"bytes"
	"os"
	"os/exec"
	"testing"
	"time"

	"agenthost/internal/waittest"
	"agenthost/plugins/internal/interop"
	"agenthost/plugins/slack/slacktest"
)

// What the fake says counts because Slack's own library works on it.
func TestInteropFakeProvedByBolt(t *testing.T) {
	node := interop.Program(t, "node")
	modules := interop.Node(t, "@slack/bolt@5.1.0")
	s := slacktest.New(t)
	s.AddUser("U1", "Ana")
	runApp(t, node, modules, s)
	waittest.Until(t, "the app has a socket", s.Connected)

	replies := func(what, channel string, holds func(m slacktest.Message) bool) slacktest.Message {
		t.Helper()
		var found slacktest.Message
		waittest.Until(t, what, func() bool {
			for _, m := range s.Messages(channel) {
				if holds(m) {
					found = m
					return true
				}
			}
			return false
		})
		return found
	}
	text := func(want string) func(slacktest.Message) bool {
		return func(m slacktest.Message) bool { return m.Text == want }
	}

	s.Say(slacktest.Message{Channel: "D1", User: "U1", Text: "echo hello"})
	replies("a reply", "D1", text("hello"))
	waittest.Until(t, "the event is acknowledged", func() bool { return s.Unacknowledged() == 0 })

	s.LimitNext(1, "chat.postMessage", time.Second)
	s.Say(slacktest.Message{Channel: "D1", User: "U1", Text: "echo after the limit"})
	replies("a reply after 429", "D1", text("after the limit"))

	root := s.Say(slacktest.Message{Channel: "C1", User: "U1", Text: "<@" + slacktest.Bot + "> hello"})
	replies("a reply to a mention", "C1", text("mentioned by U1"))
	s.Say(slacktest.Message{Channel: "C1", User: "U1", Text: "echo within", Thread: root})
	replies("a reply in a thread", "C1", func(m slacktest.Message) bool { return m.Text == "within" && m.Thread == root })

	s.Say(slacktest.Message{Channel: "D1", User: "U1", Text: "file"})
	replies("a file", "D1", func(m slacktest.Message) bool {
		return len(m.Files) == 1 && bytes.Equal(m.Files[0].Data, []byte("content")) && m.Text == "here"
	})

	s.Say(slacktest.Message{Channel: "D1", User: "U1", Text: "ask"})
	question := replies("a question", "D1", text("which?"))
	s.Press("D1", question.Time, "U1", "Red")
	replies("the choice", "D1", text("r by U1"))

	s.Refresh("refresh_requested")
	waittest.Until(t, "the app connects again", func() bool { return s.Connections() > 1 && s.Connected() })
	s.Say(slacktest.Message{Channel: "D1", User: "U1", Text: "echo still there"})
	replies("a reply over the new socket", "D1", text("still there"))
}

func runApp(t *testing.T, node, modules string, s *slacktest.Server) {
	cmd := exec.Command(node, "testdata/app.mjs")
	cmd.Env = append(os.Environ(), "MODULES="+modules, "SLACK_API="+s.URL, "BOT_TOKEN="+slacktest.BotToken, "APP_TOKEN="+slacktest.AppToken)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("the app says:\n%s", out.String())
		}
	})
}
