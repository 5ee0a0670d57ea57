package chat

import (
	"strings"
	"testing"
)

func TestOrder(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"/stop": "/stop", "/STOP": "/stop", "/Stop. ": "/stop", "/nosuch": "/nosuch", "/new\t": "/new",
		"": "", "/": "", "stop": "", " /stop": "", "/new start": "", "/etc/hosts": "", "/2": "", "//help": "", "/stop\nnow": "",
	} {
		if got := order(line); got != want {
			t.Errorf("order(%q): got %q, want %q", line, got, want)
		}
	}
}

// An order that there is not is answered with what there is; with a space before
// it, it goes to the agent. A script's lines are messages.
func TestUnknownOrder(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		typed  string
		person bool
		want   []string
	}{
		"person":        {"/Nosuch\n", true, []string{"! there is no order /nosuch; with a space before it,", "/quit"}},
		"as a message":  {" /nosuch\n", true, []string{"You said: /nosuch"}},
		"script":        {"/nosuch\n", false, []string{"You said: /nosuch"}},
		"help in caps":  {"/HELP\n", true, []string{chatHelp}},
		"stop in caps":  {"/Stop\n", true, []string{"! there is nothing to stop"}},
		"leave in caps": {"/QUIT\nhello\n", true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, out := newChat(t, strings.NewReader(tt.typed))
			c.person = tt.person
			if err := c.talk(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, want := range tt.want {
				contains(t, out.String(), want)
			}
			if tt.want == nil && strings.Contains(out.String(), "hello") {
				t.Errorf("the chat went on: %q", out)
			}
		})
	}
}

// While something is open, the help is no answer to it.
func TestHelpWhileSomethingIsOpen(t *testing.T) {
	t.Parallel()
	x, s := newScreenExchange()
	x.asked(t.Context(), approvalOf("a"))
	s.Reset()
	if err := x.typed(t.Context(), line{text: "/Help"}, true); err != nil {
		t.Fatal(err)
	}
	contains(t, s.String(), chatHelp+"[approval] pay a")
}
