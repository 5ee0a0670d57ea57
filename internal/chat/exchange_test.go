package chat

import (
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/client"
	"agenthost/internal/cli"
	"agenthost/internal/terminal"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A screen is what a person sees. It tells when it first shows a text.
type screen struct {
	strings.Builder
	text  string
	shown chan struct{}
}

func (s *screen) Write(p []byte) (int, error) {
	n, err := s.Builder.Write(p)
	if s.text != "" && strings.Contains(s.String(), s.text) {
		s.text = ""
		close(s.shown)
	}
	return n, err
}

// types types a message, and then, once the screen shows a text, the rest.
func types(t *testing.T, message, shown, rest string) (*Chat, *screen) {
	t.Helper()
	reader, writer := io.Pipe()
	c, _ := newChat(t, reader)
	s := &screen{text: shown, shown: make(chan struct{})}
	c.Stdout, c.Stderr = s, s
	go func() {
		_, _ = io.WriteString(writer, message)
		<-s.shown
		_, _ = io.WriteString(writer, rest)
		_ = writer.Close()
	}()
	return c, s
}

func TestPersonIsAsked(t *testing.T) {
	t.Parallel()
	const asked = "you> ana> " + terminal.ClearLine + "[question] Which? (Red/Blue)\nyou> "
	const open = "! waiting for an answer: agenthost approvals answer ID Red|Blue  (Which?)\n"
	tests := map[string]struct{ rest, want string }{
		"answer": {"\nblue\n", "you> ana> Blue it is.\n\nyou> \n"},
		"unfit": {
			"green\nred\n", terminal.ClearLine + `! "green": want one of Red, Blue` + "\n" +
				"[question] Which? (Red/Blue)\nyou> ana> Red it is.\n\nyou> \n",
		},
		"leave":                 {"/quit\n", "\n" + terminal.ClearLine + open},
		"leave by another word": {"/exit\n", "\n" + terminal.ClearLine + open},
		"the end of the input":  {"", "\n" + terminal.ClearLine + open},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c, s := types(t, "which\n", "(Red/Blue)", tt.rest)
			if err := c.talk(t.Context()); err != nil {
				t.Fatal(err)
			}
			got := regexp.MustCompile(`ana\.\w+\.\w+`).ReplaceAllString(s.String(), "ID")
			if diff := cmp.Diff(asked+tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// A person stops what is under way, and what was typed meanwhile comes after it.
func TestPersonStops(t *testing.T) {
	t.Parallel()
	c, s := types(t, "never\nhello\n", "…", "/stop\n")
	if err := c.talk(t.Context()); err != nil {
		t.Fatal(err)
	}
	contains(t, s.String(), terminal.ClearLine+"ana> Stopped.\n\n")
	if !strings.HasSuffix(s.String(), "you> ana> You said: hello\n\nyou> \n") {
		t.Errorf("got %q", s)
	}
}

func TestNothingToStop(t *testing.T) {
	t.Parallel()
	c, out := newChat(t, strings.NewReader("/stop\n"))
	if err := c.talk(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := "you> " + terminal.ClearLine + "! there is nothing to stop\nyou> \n"; out.String() != want {
		t.Errorf("got %q, want %q", out, want)
	}
}

// newScreenExchange is an exchange with a person at a terminal and no agent.
func newScreenExchange() (*exchange, *screen) {
	return newExchangeWith(client.New(nil, nil, client.Options{}))
}

func newExchangeWith(c *client.Client) (*exchange, *screen) {
	s := new(screen)
	return newExchange(&Chat{App: &cli.App{Stdout: s, Stderr: s}, client: c, conv: c.Conversation("ana", client.Party{From: "me", Session: "s"}), person: true}), s
}

const waitID = "ana.aaaaaaaaaaaaaaaaaaaa.bbbbbbbbbbbb"

func contains(t *testing.T, got, want string) {
	t.Helper()
	if !strings.Contains(got, want) {
		t.Errorf("got %q, want … %s …", got, want)
	}
}

func approvalOf(id string) client.Waiting {
	return client.Waiting{ID: id, Agent: "ana", Kind: client.ForApproval, Prompt: "pay " + id}
}

// What another door has answered is not open any more when the agent goes on.
func TestAskedAndAnsweredElsewhere(t *testing.T) {
	t.Parallel()
	x, s := newScreenExchange()
	x.chunk(client.Chunk{Text: "I pay."})
	x.asked(t.Context(), approvalOf("a"))
	x.asked(t.Context(), approvalOf("b"))
	x.quiet()
	x.chunk(client.Chunk{Progress: "half"})
	if len(x.open) != 2 {
		t.Fatalf("open: %v", x.open)
	}
	x.chunk(client.Chunk{Text: "Paid."})
	want := "I pay.\n[approval] pay a (or: approve session, approve always)\nyou> \nana> Paid."
	if diff := cmp.Diff(want, s.String()); diff != "" || len(x.open) > 0 {
		t.Errorf("open: %v\n-want +got:\n%s", x.open, diff)
	}
}

func TestAnswerIsTooLate(t *testing.T) {
	t.Parallel()
	x, s := newScreenExchange()
	x.orders["o"] = true
	x.reported(t.Context(), bus.Route{InReplyTo: "o"})
	x.reported(t.Context(), bus.Route{InReplyTo: "other", Error: &bus.Error{Message: "no"}})
	x.reported(t.Context(), bus.Route{InReplyTo: "o", Error: &bus.Error{Message: "too late"}})
	want := terminal.ClearLine + terminal.ClearLine + "! too late\nana> "
	if s.String() != want {
		t.Errorf("got %q, want %q", s, want)
	}
	x.asked(t.Context(), approvalOf("a"))
	s.Reset()
	x.reported(t.Context(), bus.Route{InReplyTo: "o", Error: &bus.Error{Message: "too late"}})
	contains(t, s.String(), "! too late\n[approval] pay a")
}

// An answer that cannot be sent is asked for again.
func TestOrdersCannotBeSent(t *testing.T) {
	t.Parallel()
	url, _ := bustest.Server(t)
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	x, s := newExchangeWith(client.New(nc, js, client.Options{}))
	if err := x.typed(t.Context(), line{text: "/stop"}, true); err != nil {
		t.Fatal(err)
	}
	contains(t, s.String(), "! stop ana: there is no stream for it")
	x.asked(t.Context(), approvalOf(waitID))
	for _, text := range []string{"approve", "/stop"} {
		s.Reset()
		if err := x.typed(t.Context(), line{text: text}, true); err != nil {
			t.Fatal(err)
		}
		contains(t, s.String(), "there is no stream for it")
		contains(t, s.String(), "[approval] pay "+waitID)
	}
	if _, err := client.New(nc, js, client.Options{}).Conversation("", client.Party{}).Stop(t.Context(), "me"); err == nil {
		t.Error("no error for an agent without a name")
	}
}

func TestAnswerCannotBeRead(t *testing.T) {
	t.Parallel()
	x, _ := newScreenExchange()
	broken := errors.New("broken")
	if err := x.typed(t.Context(), line{err: broken}, true); err != nil {
		t.Errorf("nothing is asked: %v", err)
	}
	if _, err := x.read(t.Context()); !errors.Is(err, broken) {
		t.Errorf("the next message: got %v, want %v", err, broken)
	}
	x.asked(t.Context(), approvalOf("a"))
	if err := x.typed(t.Context(), line{err: broken}, true); !errors.Is(err, broken) {
		t.Errorf("the answer: got %v, want %v", err, broken)
	}
}
