//go:build interop

package matrix_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"agenthost/bus"
	"agenthost/internal/waittest"
	"agenthost/plugins"
	"agenthost/plugins/matrix/matrixtest"
	"agenthost/plugins/plugintest"
	"agenthost/plugins/settings"
)

// A real homeserver, real clients of others, and the suite between them.
func TestInteropSuite(t *testing.T) {
	s := matrixtest.StartSynapse(t, "rc_joins: {local: {per_second: 100, burst_count: 100}}\nrc_invites: {per_room: {per_second: 100, burst_count: 100}, per_user: {per_second: 100, burst_count: 100}, per_issuer: {per_second: 100, burst_count: 100}}")
	admin := s.Login(s.Register("admin", "a", true), "a")
	ana, ben := s.Register("ana", "a", false), s.Register("ben", "b", false)
	for _, user := range []string{ana, ben} {
		s.Unlimited(admin, user)
	}
	people := [2]*matrixtest.Person{matrixtest.NewPerson(t, s.URL, ana, "a"), matrixtest.NewPerson(t, s.URL, ben, "b")}
	bots := 0
	plugintest.Run(t, plugintest.Suite{Shared: true, New: func(t testing.TB) plugintest.Platform {
		bots++
		return (&synapsePlatform{TB: t, s: s, admin: admin, people: people, bot: fmt.Sprintf("bot%d", bots)}).platform()
	}})
}

// A synapsePlatform is a bot of its own on the homeserver, with two rooms, which are
// made when something is written there first.
type synapsePlatform struct {
	testing.TB
	s      *matrixtest.Synapse
	admin  string
	people [2]*matrixtest.Person
	bot    string

	mu    sync.Mutex
	user  string
	rooms map[plugintest.Chat]string
	files map[string]plugintest.Sent
}

func (p *synapsePlatform) platform() plugintest.Platform {
	p.rooms, p.files = map[plugintest.Chat]string{}, map[string]plugintest.Sent{}
	return plugintest.Platform{
		Channel: p.channel, Write: p.write, Sent: p.sent,
		Disconnect: func() { p.s.Stop(); p.s.Start() },
	}
}

// channel is the bot's; it is registered when it is first needed.
func (p *synapsePlatform) channel() plugins.Channel {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.user == "" {
		p.user = p.s.Register(p.bot, "secret", false)
		p.s.Unlimited(p.admin, p.user)
	}
	return newChannel(p, settings.Matrix{Homeserver: p.s.URL, User: p.bot, Password: "secret"})
}

// room invites the bot, and Ben into the group, and waits until they are there.
func (p *synapsePlatform) room(chat plugintest.Chat) string {
	p.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if id := p.rooms[chat]; id != "" {
		return id
	}
	ana, ben := p.people[0], p.people[1]
	invited := []string{p.user}
	if chat == plugintest.Group {
		invited = append(invited, ben.ID)
	}
	id := ana.Room(chat == plugintest.Direct, invited...)
	for _, user := range invited {
		ana.SawJoin(id, user)
	}
	p.rooms[chat] = id
	return id
}

func (p *synapsePlatform) write(w plugintest.Written) {
	p.Helper()
	room, who := p.room(w.Chat), p.people[0]
	if w.Other {
		who = p.people[1]
	}
	content := map[string]any{"msgtype": "m.text", "body": w.Text}
	if w.Mention {
		content["body"] = p.bot + ": " + w.Text // as nio has no mentions of its own
	}
	if f := w.File; f != nil {
		path := filepath.Join(p.TempDir(), f.Name)
		if err := os.WriteFile(path, f.Data, 0o600); err != nil {
			p.Fatal(err)
		}
		content["msgtype"], content["filename"] = "m.file", f.Name
		content["url"] = who.Order("upload", map[string]any{"path": path, "mime": f.MIME, "name": f.Name}).URL
	}
	who.Send(room, content)
}

// sent is what Ana sees of the bot.
func (p *synapsePlatform) sent(chat plugintest.Chat) (sent []plugintest.Sent) {
	p.mu.Lock()
	room := p.rooms[chat]
	p.mu.Unlock()
	for _, e := range p.people[0].Seen(room) {
		if e.Sender != p.user {
			continue
		}
		s := plugintest.Sent{Text: e.Content.Body}
		if e.Content.URL != "" {
			s = p.file(e)
		}
		sent = append(sent, s)
	}
	return sent
}

// file is a file that was sent, which Ana loads once.
func (p *synapsePlatform) file(e matrixtest.Seen) plugintest.Sent {
	if s, loaded := p.files[e.ID]; loaded {
		return s
	}
	path := filepath.Join(p.TempDir(), "loaded")
	p.people[0].Order("download", map[string]any{"url": e.Content.URL, "path": path})
	data, err := os.ReadFile(path)
	if err != nil {
		p.Fatal(err)
	}
	p.files[e.ID] = plugintest.Sent{Text: e.Content.Body, Name: e.Content.Filename, File: data}
	return p.files[e.ID]
}

// Synapse takes ten messages at once and then one in five seconds.
func TestInteropDefaultRateLimit(t *testing.T) {
	s := matrixtest.StartSynapse(t, "")
	admin := s.Login(s.Register("admin", "a", true), "a")
	ana := matrixtest.NewPerson(t, s.URL, s.Register("ana", "a", false), "a")
	s.Unlimited(admin, ana.ID)
	bot := s.Register("bot", "secret", false)
	h := plugintest.NewHost(t, newChannel(t, settings.Matrix{Homeserver: s.URL, User: "bot", Password: "secret"}), settings.Account{})
	room := ana.Room(true, bot)
	ana.SawJoin(room, bot)
	const most = 12
	for i := range most {
		h.Send(bus.Outbound{To: ana.ID, Chat: room, Text: fmt.Sprintf("reply %d", i)})
	}
	waittest.Until(t, "all replies", func() bool { return len(ana.Seen(room)) >= most })
	for i, e := range ana.Seen(room) {
		if want := fmt.Sprintf("reply %d", i); e.Content.Body != want {
			t.Errorf("message %d is %q, want %q", i, e.Content.Body, want)
		}
	}
}
