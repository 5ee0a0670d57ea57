//go:build interop

package telegramtest_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agenthost/plugins/internal/interop"
	"agenthost/plugins/telegram/telegramtest"
)

// A grammy is a bot on Telegram's own kind of client.
type grammy struct {
	t     *testing.T
	srv   *telegramtest.Server
	cmd   *exec.Cmd
	lines *bufio.Scanner
}

func startGrammy(t *testing.T, srv *telegramtest.Server) *grammy {
	t.Helper()
	dir := interop.Node(t, "grammy@1.46.0")
	cmd := exec.CommandContext(t.Context(), interop.Program(t, "node"), filepath.Join("testdata", "grammy.js"), srv.URL, telegramtest.Token)
	cmd.Env = append(os.Environ(), "NODE_PATH="+filepath.Join(dir, "node_modules"))
	cmd.Stderr = t.Output()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	g := &grammy{t: t, srv: srv, cmd: cmd, lines: bufio.NewScanner(out)}
	g.says(map[string]any{"login": telegramtest.Username})
	return g
}

// says reads the next line of the bot.
func (g *grammy) says(want map[string]any) {
	g.t.Helper()
	if !g.lines.Scan() {
		g.t.Fatalf("the bot ended before it said %v", want)
	}
	var got map[string]any
	if err := json.Unmarshal(g.lines.Bytes(), &got); err != nil {
		g.t.Fatalf("%s: %v", g.lines.Text(), err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		g.t.Fatalf("the bot says (-want +got):\n%s", diff)
	}
}

// stop ends the bot in good order, in which it acknowledges what it has read.
func (g *grammy) stop() {
	g.t.Helper()
	if err := g.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		g.t.Fatal(err)
	}
	g.says(map[string]any{"stopped": true})
	_ = g.cmd.Wait()
}

// shows waits for so many messages of the bot and returns the last.
func (g *grammy) shows(chat int64, n int) telegramtest.Message {
	g.t.Helper()
	g.srv.Wait(g.t, "a message of the bot", func() bool { return len(g.srv.Messages(chat)) >= n })
	return g.srv.Messages(chat)[n-1]
}

func TestGrammYWorksOnTheFake(t *testing.T) {
	srv := telegramtest.New(t)
	g := startGrammy(t, srv)
	id := srv.Write(telegramtest.Message{From: 7, Name: "Ana", Text: "hello"})
	got := g.shows(7, 1)
	if got.Text != "hello too" || got.ReplyTo != id {
		t.Fatalf("the reply is %+v", got)
	}
	srv.Wait(t, "the acknowledgement", func() bool { return srv.Waiting() == 0 })

	srv.Write(telegramtest.Message{From: 7, Text: "file"})
	if got := g.shows(7, 2); string(got.File.Data) != "from grammy" || got.File.Name != "a.txt" || got.Text != "here" {
		t.Fatalf("the document is %+v", got)
	}
	srv.Write(telegramtest.Message{From: 7, Text: "photo"})
	if got := g.shows(7, 3); string(got.File.Data) != "pixels" {
		t.Fatalf("the photo is %+v", got)
	}
	srv.Write(telegramtest.Message{From: 7, Text: "look", File: &telegramtest.File{Kind: "document", Name: "b.txt", MIME: "text/plain", Data: []byte("to grammy")}})
	g.says(map[string]any{"file": "to grammy", "caption": "look"})

	srv.Write(telegramtest.Message{From: 7, Text: "button"})
	asked := g.shows(7, 4)
	if diff := cmp.Diff([]telegramtest.Button{{Text: "yes", Data: "y1"}, {Text: "no", Data: "n1"}}, asked.Buttons); diff != "" {
		t.Fatal(diff)
	}
	srv.Press(7, "Ana", asked.ID, "n1")
	g.says(map[string]any{"pressed": "n1"})
	if left := g.shows(7, 4).Buttons; len(left) != 0 {
		t.Fatalf("the buttons are still there: %v", left)
	}

	srv.Edit(id, "hullo")
	g.says(map[string]any{"edited": "hullo", "id": float64(id)})
	srv.Write(telegramtest.Message{From: 7, Text: "edit"})
	srv.Wait(t, "the edit", func() bool { return len(srv.Calls("editMessageText")) == 1 && g.shows(7, 5).Text == "two" })
	srv.Write(telegramtest.Message{From: 7, Text: "draft"})
	srv.Write(telegramtest.Message{From: 7, Text: "typing"})
	srv.Wait(t, "a draft and typing", func() bool {
		return len(srv.Calls("sendMessageDraft")) == 1 && len(srv.Calls("sendChatAction")) == 1
	})

	srv.Write(telegramtest.Message{From: 8, Chat: -1005, Title: "Shop", Thread: 3, Text: "/start@" + telegramtest.Username})
	g.says(map[string]any{"command": "start", "chat": "supergroup", "mentioned": float64(0)})
	srv.Write(telegramtest.Message{From: 8, Chat: -1005, Thread: 3, Text: "topic"})
	if got := g.shows(-1005, 1); got.Thread != 3 {
		t.Fatalf("the reply in a topic is %+v", got)
	}
	g.stop()
}

func TestGrammYUnderstandsRefusalsOfTheFake(t *testing.T) {
	srv := telegramtest.New(t)
	g := startGrammy(t, srv)
	srv.Refuse("sendMessage", telegramtest.TooMany(3))
	srv.Write(telegramtest.Message{From: 7, Text: "hello"})
	g.says(map[string]any{"error": 429.0, "description": "Too Many Requests: retry after 3", "retry_after": 3.0})
	srv.Write(telegramtest.Message{From: 7, Text: "long"})
	g.says(map[string]any{"error": 400.0, "description": "Bad Request: message is too long", "retry_after": 0.0})
	srv.Write(telegramtest.Message{From: 7, Text: "broken"})
	g.says(map[string]any{"error": 400.0, "description": `Bad Request: can't parse entities: Can't find end tag corresponding to start tag "b"`, "retry_after": 0.0})

	// A second poller ends this one.
	srv.Wait(t, "the acknowledgement", func() bool { return srv.Waiting() == 0 })
	resp, err := http.PostForm(srv.URL+"/bot"+telegramtest.Token+"/getUpdates", url.Values{"timeout": {"0"}})
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if !g.lines.Scan() || !strings.Contains(g.lines.Text(), `"ended":409`) {
		t.Fatalf("the first poller says %s", g.lines.Text())
	}
	_ = g.cmd.Wait()
}

func TestFakeGivesAgainWhatGrammYHasNotAcknowledged(t *testing.T) {
	srv := telegramtest.New(t)
	g := startGrammy(t, srv)
	srv.Write(telegramtest.Message{From: 7, Text: "one"})
	g.shows(7, 1)
	srv.Wait(t, "the acknowledgement", func() bool { return srv.Waiting() == 0 })
	if err := g.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = g.cmd.Wait()
	srv.Write(telegramtest.Message{From: 7, Text: "two"})
	g = startGrammy(t, srv)
	if got := g.shows(7, 2); got.Text != "two too" {
		t.Fatalf("after a restart the bot answers %q", got.Text)
	}
	g.stop()
}
