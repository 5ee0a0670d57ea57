package telegram_test

import (
	"testing"
	"time"

	"agenthost/plugins"
	"agenthost/plugins/plugintest"
	"agenthost/plugins/settings"
	"agenthost/plugins/telegram"
	"agenthost/plugins/telegram/telegramtest"
)

const bob = 8

func TestSuite(t *testing.T) {
	t.Parallel()
	plugintest.Run(t, plugintest.Suite{New: func(t testing.TB) plugintest.Platform {
		srv := telegramtest.New(t)
		chatOf := map[plugintest.Chat]int64{plugintest.Direct: ana, plugintest.Group: group}
		return plugintest.Platform{
			Channel: func() plugins.Channel {
				ch, err := telegram.New(settings.Telegram{API: srv.URL, Token: telegramtest.Token})
				if err != nil {
					t.Fatal(err)
				}
				return ch
			},
			Write: func(w plugintest.Written) {
				m := telegramtest.Message{From: ana, Name: "Ana", Text: w.Text}
				if w.Other {
					m.From, m.Name = bob, "Bob"
				}
				if w.Chat == plugintest.Group {
					m.Chat, m.Title = group, "Shop"
				}
				if w.Mention {
					m.Text = "@" + telegramtest.Username + " " + m.Text
				}
				if w.File != nil {
					m.File = &telegramtest.File{Kind: "document", Name: w.File.Name, MIME: w.File.MIME, Data: w.File.Data}
				}
				srv.Write(m)
			},
			Sent: func(chat plugintest.Chat) (all []plugintest.Sent) {
				for _, m := range srv.Messages(chatOf[chat]) {
					s := plugintest.Sent{Text: m.Text}
					if m.File != nil {
						s.File, s.Name = m.File.Data, m.File.Name
					}
					for _, b := range m.Buttons {
						s.Buttons = append(s.Buttons, b.Text)
					}
					all = append(all, s)
				}
				return all
			},
			Repeat: srv.Repeat,
			Keeps:  true,
			Typing: func(plugintest.Chat) bool { return len(srv.Calls("sendChatAction")) > 0 },
			Preview: func(chat plugintest.Chat) string {
				drafts := srv.Calls("sendMessageDraft")
				if len(drafts) == 0 || len(srv.Messages(chatOf[chat])) > 0 {
					return "" // a draft is gone when the message is sent
				}
				return drafts[len(drafts)-1].Text("text")
			},
			Press: func(chat plugintest.Chat, label string) {
				all := srv.Messages(chatOf[chat])
				for _, m := range all {
					for _, b := range m.Buttons {
						if b.Text == label {
							srv.Press(ana, "Ana", m.ID, b.Data)
							return
						}
					}
				}
				t.Errorf("there is no button %q", label)
			},
			RateLimit: func(wait time.Duration) { srv.Refuse("sendMessage", telegramtest.TooMany(int(wait.Seconds()))) },
			Refuse: func() {
				srv.Refuse("sendMessage", telegramtest.Refusal{Code: 403, Description: "Forbidden: bot was blocked by the user"})
			},
			Fail: func() { srv.Refuse("sendMessage", telegramtest.Refusal{Code: 502, Description: "Bad Gateway"}) },
			Disconnect: func() {
				srv.Refuse("getUpdates", telegramtest.Refusal{Code: 502, Description: "Bad Gateway"})
				srv.Cut()
			},
		}
	}})
}
