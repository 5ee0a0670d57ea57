package discord_test

import (
	"testing"
	"time"

	"agenthost/plugins"
	"agenthost/plugins/discord"
	"agenthost/plugins/discord/discordtest"
	"agenthost/plugins/plugintest"
	"agenthost/plugins/settings"
)

const bob = "8"

func TestSuite(t *testing.T) {
	t.Parallel()
	plugintest.Run(t, plugintest.Suite{New: func(t testing.TB) plugintest.Platform {
		srv := discordtest.New(t)
		srv.Room(room)
		roomOf := map[plugintest.Chat]string{plugintest.Direct: dm, plugintest.Group: room}
		return plugintest.Platform{
			Channel: func() plugins.Channel {
				ch, err := discord.New(settings.Discord{API: srv.URL, Token: discordtest.Token})
				if err != nil {
					t.Fatal(err)
				}
				return ch
			},
			Write: func(w plugintest.Written) {
				m := discordtest.Message{From: ana, Name: "Ana", Text: w.Text}
				if w.Other {
					m.From, m.Name = bob, "Bob"
				}
				if w.Chat == plugintest.Group {
					m.Room = room
				}
				if w.Mention {
					m.Text = "<@" + discordtest.BotID + "> " + m.Text
				}
				if w.File != nil {
					m.File = &discordtest.File{Name: w.File.Name, MIME: w.File.MIME, Data: w.File.Data}
				}
				srv.Write(m)
			},
			Sent: func(chat plugintest.Chat) (all []plugintest.Sent) {
				for _, m := range srv.Messages(roomOf[chat]) {
					s := plugintest.Sent{Text: m.Text}
					if m.File != nil {
						s.File, s.Name = m.File.Data, m.File.Name
					}
					for _, b := range m.Buttons {
						s.Buttons = append(s.Buttons, b.Label)
					}
					all = append(all, s)
				}
				return all
			},
			Repeat: srv.Repeat,
			Keeps:  true,
			Typing: func(plugintest.Chat) bool { return len(srv.Calls("POST typing")) > 0 },
			Press: func(chat plugintest.Chat, label string) {
				for _, m := range srv.Messages(roomOf[chat]) {
					for _, b := range m.Buttons {
						if b.Label == label {
							srv.Press(ana, "Ana", m.ID, b.ID)
							return
						}
					}
				}
				t.Errorf("there is no button %q", label)
			},
			RateLimit: func(wait time.Duration) { srv.Refuse("POST messages", discordtest.TooMany(wait.Seconds())) },
			Refuse: func() {
				srv.Refuse("POST messages", discordtest.Refusal{Status: 403, Code: 50007, Message: "Cannot send messages to this user"})
			},
			Fail:       func() { srv.Refuse("POST messages", discordtest.Refusal{Status: 503}) },
			Disconnect: func() { srv.Disconnect(4000) },
		}
	}})
}
