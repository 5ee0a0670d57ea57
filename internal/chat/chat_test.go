package chat

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"agenthost/bus"
	"agenthost/client"
	"agenthost/config"
	"agenthost/host"
	"agenthost/internal/cli"
	"agenthost/internal/terminal"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"
)

const chatRules = `rules:
  - {is: fail, error: {status: 401}}
  - {is: story, chunks: ["Once upon ", "a time."]}
  - {is: which, tool_calls: [{name: ask_human, args: {question: "Which?", options: [Red, Blue]}}]}
  - {after_tool: ask_human, text: "${result} it is."}
  - {is: never, delay: 1h, text: never}
  - {text: "You said: ${text}"}
`

// newChat is a chat with a host of its own and a person at a terminal.
func newChat(t *testing.T, stdin io.Reader) (*Chat, *bytes.Buffer) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "rules.yaml"), []byte(chatRules), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Parse(filepath.Join(dir, "agenthost.yaml"), []byte(`
nats: {embedded: {listen: ""}}
http: {listen: ""}
models: {main: {provider: scripted, script: rules.yaml}}
agents: [{id: ana, tools: [ask_human]}]
`))
	if err != nil {
		t.Fatal(err)
	}
	h := host.New(host.Options{Config: cfg, Grace: time.Nanosecond, Log: zerolog.New(zerolog.NewTestWriter(t))})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	select {
	case <-h.Ready():
	case <-time.After(time.Minute):
		t.Fatal("the host did not start")
	}
	nats := client.New(h.Bus().NC, h.Bus().JS, client.Options{Door: bus.DoorCLI})
	out := new(bytes.Buffer)
	c := &Chat{
		App: &cli.App{Stdin: stdin, Stdout: out, Stderr: out}, client: nats,
		conv: nats.Conversation("ana", client.Party{From: "me", Session: "s"}), person: true,
	}
	if err := c.conv.Listen(true); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.conv.Close() })
	return c, out
}

func TestChatWithAPerson(t *testing.T) {
	t.Parallel()
	c, out := newChat(t, strings.NewReader("hello\n\nstory\nfail\nagain"))
	if err := c.talk(t.Context()); err != nil {
		t.Fatal(err)
	}
	// What is typed is echoed by the terminal, not by the chat.
	want := "you> ana> You said: hello\n\n" +
		"you> you> ana> Once upon a time.\n\n" +
		"you> ana> " + terminal.ClearLine + "ana> error: I can't use my model right now: its provider did not accept my key. Please tell the operator. (provider_auth)\n\n" +
		"you> ana> You said: again\n\n" +
		"you> \n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestChatIsInterrupted(t *testing.T) {
	t.Parallel()
	reader, writer := io.Pipe()
	defer writer.Close()
	c, out := newChat(t, reader)
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		_, _ = writer.Write([]byte("never\n"))
		cancel(cli.ErrInterrupted)
	}()
	if err := c.talk(ctx); err != nil {
		t.Errorf("at a terminal: %v", err)
	}
	if !strings.HasSuffix(out.String(), "\n") || strings.Count(out.String(), "you>") > 1 {
		t.Errorf("output: %q", out)
	}
	c.person = false
	if err := c.talk(ctx); !errors.Is(err, cli.ErrInterrupted) {
		t.Errorf("on a pipe: got %v, want %v", err, cli.ErrInterrupted)
	}
}

func TestChatCannotRead(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	c := &Chat{App: &cli.App{Stdin: iotest.ErrReader(broken)}}
	if err := c.talk(t.Context()); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
}
