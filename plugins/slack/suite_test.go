package slack_test

import (
	"encoding/json"
	"testing"
	"time"

	"agenthost/plugins"
	"agenthost/plugins/plugintest"
	"agenthost/plugins/settings"
	"agenthost/plugins/slack"
	"agenthost/plugins/slack/slacktest"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	plugintest.Run(t, plugintest.Suite{New: func(t testing.TB) plugintest.Platform { return platform(t, slacktest.New(t)) }})
}

// platform is a workspace with Ana and Ben, who share a channel with the app.
func platform(t testing.TB, s *slacktest.Server) plugintest.Platform {
	s.AddUser("U1", "Ana")
	s.AddUser("U2", "Ben")
	channels := map[plugintest.Chat]string{plugintest.Direct: "D1", plugintest.Group: "C1"}
	write := func(w plugintest.Written) {
		m := slacktest.Message{Channel: channels[w.Chat], User: "U1", Text: w.Text}
		if w.Other {
			m.User = "U2"
		}
		if w.Mention {
			m.Text = "<@" + slacktest.Bot + "> " + m.Text
		}
		if f := w.File; f != nil {
			m.Files = []slacktest.File{s.Share(slacktest.File{Name: f.Name, MIME: f.MIME, Data: f.Data})}
		}
		s.Say(m)
	}
	return plugintest.Platform{
		Channel: func() plugins.Channel { return newChannel(t, s) },
		Write:   write,
		Sent: func(chat plugintest.Chat) (sent []plugintest.Sent) {
			for _, m := range s.Messages(channels[chat]) {
				sent = append(sent, shown(m))
			}
			return sent
		},
		Repeat: s.Repeat,
		Keeps:  true,
		Press: func(chat plugintest.Chat, label string) {
			messages := s.Messages(channels[chat])
			s.Press(channels[chat], messages[len(messages)-1].Time, "U1", label)
		},
		RateLimit:  func(wait time.Duration) { s.LimitNext(1, "chat.postMessage", wait) },
		Refuse:     func() { s.FailNext(1, "chat.postMessage", "is_archived") },
		Fail:       func() { s.LoseNext(1, "chat.postMessage") },
		Disconnect: s.Disconnect,
	}
}

func newChannel(t testing.TB, s *slacktest.Server) plugins.Channel {
	t.Helper()
	c, err := slack.New(settings.Slack{AppToken: slacktest.AppToken, BotToken: slacktest.BotToken, API: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// shown is a message as a person sees it.
func shown(m slacktest.Message) plugintest.Sent {
	sent := plugintest.Sent{Text: m.Text}
	for _, f := range m.Files {
		sent.File, sent.Name = f.Data, f.Name
	}
	var blocks []struct {
		Elements []struct {
			Text struct {
				Text string `json:"text"`
			} `json:"text"`
		} `json:"elements"`
	}
	_ = json.Unmarshal(m.Blocks, &blocks)
	for _, b := range blocks {
		for _, e := range b.Elements {
			sent.Buttons = append(sent.Buttons, e.Text.Text)
		}
	}
	return sent
}
