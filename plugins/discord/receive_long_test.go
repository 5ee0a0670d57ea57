//go:build long

package discord_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agenthost/bus/bustest"
	"agenthost/plugins"
	"agenthost/plugins/discord/discordtest"
	"agenthost/plugins/internal/inboxtest"
	"agenthost/plugins/settings"
)

func TestReceiveAFile(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		size   int64
		refuse []discordtest.Refusal
		want   string
	}{
		"as it is":          {0, nil, "look"},
		"too large":         {21 << 20, nil, "look\n[file a.png left out: 21.0 MB, more than the 20.0 MB allowed]"},
		"gone":              {0, []discordtest.Refusal{{Status: 404}}, "look\n[file a.png left out: it could not be loaded]"},
		"never":             {0, []discordtest.Refusal{{Status: 500}, {Status: 500}, {Status: 500}}, "look\n[file a.png left out: it could not be loaded]"},
		"at the second try": {0, []discordtest.Refusal{{Status: 500}}, "look"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			host, srv, _ := connected(t)
			srv.Refuse("GET file", tt.refuse...)
			srv.Write(discordtest.Message{From: ana, Text: "look", File: &discordtest.File{Name: "a.png", MIME: "image/png", Data: []byte("png"), Size: tt.size}})
			in := host.Next()
			if in.Text != tt.want {
				t.Errorf("the text is %q, want %q", in.Text, tt.want)
			}
			if tt.want != "look" {
				return
			}
			if len(in.Media) != 1 || in.Media[0].Kind != "image" || host.File(in.Media[0]) != "png" {
				t.Errorf("the file is %+v", in.Media)
			}
		})
	}
}

// TestALostSession: Discord has dropped it, and what was missed is read by REST.
func TestALostSession(t *testing.T) {
	t.Parallel()
	host, srv, _ := connected(t)
	for _, m := range []discordtest.Message{{Text: "one"}, {Text: "one", Room: room}} {
		m.From = ana
		srv.Write(m)
		host.Next()
	}
	srv.Hold()
	srv.Forget()
	var want []string
	for _, m := range []discordtest.Message{{Text: "private"}, {Text: "in a room", Room: room}, {Text: "in a new thread", Room: room, Thread: threads}} {
		m.From = ana
		srv.Write(m)
		want = append(want, m.Text)
	}
	srv.Release()
	var got []string
	for range want {
		in := host.Next()
		got = append(got, in.Text)
		if in.Text == "in a new thread" && (in.Chat != room || in.Thread != threads) {
			t.Errorf("the message in a thread is %+v", in)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	srv.Write(discordtest.Message{From: ana, Text: "next"})
	if got := host.Next().Text; got != "next" {
		t.Errorf("next comes %q", got)
	}
}

func TestHeartbeats(t *testing.T) {
	t.Parallel()
	srv := discordtest.New(t)
	srv.Heartbeats(2*time.Second, true) // an answer that takes longer does not count
	c, _ := inboxtest.New(t).Start(channel(t, settings.Discord{API: srv.URL, Token: discordtest.Token}), settings.Account{}, plugins.StateConnected)
	srv.Wait(t, "heartbeats", func() bool { return len(srv.Calls("heartbeat")) > 2 })
	if n := len(srv.Calls("identify")) + len(srv.Calls("resume")); n != 1 {
		t.Errorf("%d connections", n)
	}
	srv.Heartbeats(20e6, false)
	srv.Wait(t, "another connection", func() bool { return len(srv.Calls("resume")) > 0 })
	srv.Heartbeats(20e6, true)
	bustest.Eventually(t, "it is connected", func() bool { return c.Status().State == plugins.StateConnected })
}
