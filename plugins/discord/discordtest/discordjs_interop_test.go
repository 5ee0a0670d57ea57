//go:build interop

package discordtest_test

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agenthost/plugins/discord/discordtest"
	"agenthost/plugins/internal/interop"
)

// A bot is one on discord.js.
type bot struct {
	t     *testing.T
	srv   *discordtest.Server
	cmd   *exec.Cmd
	lines *bufio.Scanner
}

func start(t *testing.T, srv *discordtest.Server, token string) *bot {
	t.Helper()
	dir := interop.Node(t, "discord.js@14.28.1")
	cmd := exec.CommandContext(t.Context(), interop.Program(t, "node"), filepath.Join("testdata", "discord.js"), srv.URL, token)
	cmd.Env = append(os.Environ(), "NODE_PATH="+filepath.Join(dir, "node_modules"))
	cmd.Stderr = t.Output()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return &bot{t: t, srv: srv, cmd: cmd, lines: bufio.NewScanner(out)}
}

// says reads the next line of the bot.
func (b *bot) says(want map[string]any) {
	b.t.Helper()
	if !b.lines.Scan() {
		b.t.Fatalf("the bot ended before it said %v", want)
	}
	var got map[string]any
	if err := json.Unmarshal(b.lines.Bytes(), &got); err != nil {
		b.t.Fatalf("%s: %v", b.lines.Text(), err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		b.t.Fatalf("the bot says (-want +got):\n%s", diff)
	}
}

// shows waits for so many messages of the bot and returns the last.
func (b *bot) shows(room string, n int) discordtest.Message {
	b.t.Helper()
	b.srv.Wait(b.t, "a message of the bot", func() bool { return len(b.srv.Messages(room)) >= n })
	return b.srv.Messages(room)[n-1]
}

func TestDiscordJSWorksOnTheFake(t *testing.T) {
	srv := discordtest.New(t)
	b := start(t, srv, discordtest.Token)
	b.says(map[string]any{"login": discordtest.BotName})
	room := discordtest.PrivateRoom("7")

	id := srv.Write(discordtest.Message{From: "7", Name: "Ana", Text: "hello"})
	if got := b.shows(room, 1); got.Text != "hello too" || got.ReplyTo != id {
		t.Fatalf("the reply is %+v", got)
	}
	srv.Write(discordtest.Message{From: "7", Text: "file"})
	if got := b.shows(room, 2); got.Text != "here" || string(got.File.Data) != "from discord.js" || got.File.Name != "a.txt" {
		t.Fatalf("the file is %+v", got)
	}
	srv.Write(discordtest.Message{From: "7", File: &discordtest.File{Name: "b.txt", MIME: "text/plain", Data: []byte("to discord.js")}})
	b.says(map[string]any{"file": "to discord.js", "name": "b.txt"})

	srv.Write(discordtest.Message{From: "7", Text: "button"})
	asked := b.shows(room, 3)
	if diff := cmp.Diff([]discordtest.Button{{Label: "Yes", ID: "y1"}, {Label: "No", ID: "n1"}}, asked.Buttons); diff != "" {
		t.Fatal(diff)
	}
	srv.Press("7", "Ana", asked.ID, "n1")
	b.says(map[string]any{"pressed": "n1", "by": "7"})
	srv.Wait(t, "the buttons to go", func() bool { return len(b.shows(room, 3).Buttons) == 0 })

	srv.Edit(id, "hullo")
	b.says(map[string]any{"edited": "hullo"})
	srv.Write(discordtest.Message{From: "7", Text: "edit"})
	srv.Wait(t, "the edit", func() bool { return b.shows(room, 4).Text == "two" })
	srv.Write(discordtest.Message{From: "7", Text: "typing"})
	srv.Wait(t, "typing", func() bool { return len(srv.Calls("POST typing")) == 1 })
	srv.Write(discordtest.Message{From: "7", Text: "nonce"})
	b.says(map[string]any{"same": true})
	srv.Write(discordtest.Message{From: "7", Text: "history"})
	b.says(map[string]any{"first": "hullo"})

	srv.Write(discordtest.Message{From: "8", Room: "77", Text: "where"})
	b.says(map[string]any{"thread": false, "parent": nil, "mentioned": false})
	srv.Write(discordtest.Message{From: "8", Room: "77", Text: "<@" + discordtest.BotID + "> hello"})
	if got := b.shows("77", 1); !strings.HasSuffix(got.Text, "hello too") {
		t.Fatalf("in a server the reply is %+v", got)
	}
}

func TestDiscordJSUnderstandsRefusalsOfTheFake(t *testing.T) {
	srv := discordtest.New(t)
	b := start(t, srv, discordtest.Token)
	b.says(map[string]any{"login": discordtest.BotName})
	room := discordtest.PrivateRoom("7")
	srv.Refuse("POST messages", discordtest.TooMany(0.2))
	srv.Write(discordtest.Message{From: "7", Text: "hello"})
	if got := b.shows(room, 1); got.Text != "hello too" || len(srv.Calls("POST messages")) != 2 {
		t.Fatalf("after 429 it shows %+v by %d calls", got, len(srv.Calls("POST messages")))
	}
	srv.Write(discordtest.Message{From: "7", Text: "long"})
	b.says(map[string]any{"error": 400.0, "code": 50035.0})

	// A lost connection is resumed, and what was written meanwhile comes.
	srv.Disconnect(4000)
	srv.Write(discordtest.Message{From: "7", Text: "still there"})
	b.says(map[string]any{"resumed": true})
	if got := b.shows(room, 2); got.Text != "still there too" {
		t.Fatalf("after a resume it shows %+v", got)
	}
	srv.RefuseLogin(4014)
	srv.Forget()
	for b.lines.Scan() {
		if strings.Contains(b.lines.Text(), "4014") {
			return
		}
	}
	t.Fatal("the bot does not say that its intents were refused")
}

func TestDiscordJSWithAWrongToken(t *testing.T) {
	srv := discordtest.New(t)
	start(t, srv, "wrong").says(map[string]any{"refused": "TokenInvalid"})
}
