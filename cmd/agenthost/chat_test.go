package main

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

	"agenthost/config"

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
func newChat(t *testing.T, stdin io.Reader) (*chat, *bytes.Buffer) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "rules.yaml"), []byte(chatRules), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Parse(filepath.Join(dir, "agenthost.yaml"), []byte(`
nats: {embedded: {listen: ""}}
models: {main: {provider: scripted, script: rules.yaml}}
agents: [{id: ana, tools: [ask_human]}]
`))
	if err != nil {
		t.Fatal(err)
	}
	p, err := startHere(t.Context(), cfg, "agenthost.yaml", zerolog.New(zerolog.NewTestWriter(t)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.leave(); err != nil {
			t.Error(err)
		}
	})
	out := new(bytes.Buffer)
	c := &chat{
		app:    &app{stdin: stdin, stdout: out, stderr: out},
		dialog: newDialog(p.nc, p.js, "ana", "me", "s"), person: true,
	}
	if err := c.dialog.listen(true); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.dialog.close)
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
		"you> ana> " + clearLine + "ana> error: I can't use my model right now: its provider did not accept my key. Please tell the operator. (provider_auth)\n\n" +
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
		cancel(errInterrupted)
	}()
	if err := c.talk(ctx); err != nil {
		t.Errorf("at a terminal: %v", err)
	}
	if !strings.HasSuffix(out.String(), "\n") || strings.Count(out.String(), "you>") > 1 {
		t.Errorf("output: %q", out)
	}
	c.person = false
	if err := c.talk(ctx); !errors.Is(err, errInterrupted) {
		t.Errorf("on a pipe: got %v, want %v", err, errInterrupted)
	}
}

func TestChatCannotRead(t *testing.T) {
	broken := errors.New("broken")
	c := &chat{app: &app{stdin: iotest.ErrReader(broken)}}
	if err := c.talk(t.Context()); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
}

func TestConfirm(t *testing.T) {
	for answer, want := range map[string]bool{"y\n": true, "YES\n": true, "n\n": false, "\n": false, "": false} {
		var out bytes.Buffer
		a := &app{stdin: strings.NewReader(answer), stderr: &out}
		if got := a.confirm("delete?"); got != want {
			t.Errorf("%q: got %v, want %v", answer, got, want)
		}
		if out.String() != "delete? [y/N] " {
			t.Errorf("asked %q", out.String())
		}
	}
}
