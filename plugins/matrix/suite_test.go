package matrix_test

import (
	"net/http"
	"testing"
	"time"

	"agenthost/plugins"
	"agenthost/plugins/matrix"
	"agenthost/plugins/matrix/matrixtest"
	"agenthost/plugins/plugintest"
	"agenthost/plugins/settings"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	plugintest.Run(t, plugintest.Suite{New: func(t testing.TB) plugintest.Platform { return platform(t, matrixtest.New(t)) }})
}

// platform is a homeserver with a bot, a room with Ana and one with Ana and Ben.
func platform(t testing.TB, s *matrixtest.Server) plugintest.Platform {
	bot, ana, ben := s.AddUser("bot", "secret"), s.AddUser("ana", ""), s.AddUser("ben", "")
	rooms := map[plugintest.Chat]string{plugintest.Direct: s.Room(ana, bot), plugintest.Group: s.Room(ana, ben, bot)}
	write := func(w plugintest.Written) {
		who := ana
		if w.Other {
			who = ben
		}
		content := map[string]any{"msgtype": "m.text", "body": w.Text}
		if w.Mention {
			content["body"] = "bot: " + w.Text
			content["format"], content["formatted_body"] = "org.matrix.custom.html", `<a href="https://matrix.to/#/`+bot+`">bot</a>: `+w.Text
			content["m.mentions"] = map[string]any{"user_ids": []string{bot}}
		}
		if f := w.File; f != nil {
			content["msgtype"], content["filename"] = "m.file", f.Name
			content["info"] = map[string]any{"mimetype": f.MIME, "size": len(f.Data)}
			content["url"] = s.AddFile(matrixtest.File{Name: f.Name, MIME: f.MIME, Data: f.Data})
		}
		s.Send(rooms[w.Chat], who, "m.room.message", content)
	}
	return plugintest.Platform{
		Channel: func() plugins.Channel {
			return newChannel(t, settings.Matrix{Homeserver: s.URL, User: "bot", Password: "secret"})
		},
		Write: write,
		Sent: func(chat plugintest.Chat) (sent []plugintest.Sent) {
			for _, e := range s.Messages(rooms[chat], bot) {
				sent = append(sent, shown(s, e))
			}
			return sent
		},
		Repeat:    s.Repeat,
		Keeps:     true,
		Typing:    func(chat plugintest.Chat) bool { return s.Typing(rooms[chat], bot) },
		RateLimit: func(wait time.Duration) { s.LimitNext(1, wait) },
		Refuse: func() {
			s.FailNext(1, http.MethodPut, "/send/", http.StatusForbidden, "M_FORBIDDEN", "You don't have permission to post that to the room.")
		},
		Fail:       func() { s.LoseNext(1) },
		Disconnect: s.Disconnect,
	}
}

func newChannel(t testing.TB, s settings.Matrix) plugins.Channel {
	t.Helper()
	c, err := matrix.New(s)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// shown is a message as a person sees it.
func shown(s *matrixtest.Server, e matrixtest.Event) plugintest.Sent {
	text, _ := e.Content["body"].(string)
	sent := plugintest.Sent{Text: text}
	if address, ok := e.Content["url"].(string); ok {
		f := s.File(address)
		sent.File, sent.Name = f.Data, f.Name
	}
	return sent
}
