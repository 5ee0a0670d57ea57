package chat

import (
	"fmt"
	"io"
	"strings"

	"agenthost/bus"
	"agenthost/client"
	"agenthost/internal/cli"
	"agenthost/internal/terminal"
)

// A Speech writes a reply as it comes, and at the end what of it is missing.
type Speech struct {
	w    io.Writer
	safe bool // w is a terminal, which control characters would confuse
	// markdown shows the text, where it is shown as Markdown.
	markdown *terminal.Markdown
	said     strings.Builder
}

// NewSpeech writes to the standard output of app.
func NewSpeech(app *cli.App) *Speech {
	return &Speech{w: app.Stdout, safe: cli.IsTerminal(app.Stdout)}
}

// PrintReply prints what of a reply speech has not, and returns the error that
// the reply is.
func PrintReply(app *cli.App, r client.Reply, speech *Speech) error {
	switch {
	case app.JSON:
		fmt.Fprintf(app.Stdout, "%s\n", cli.PrintableJSON(r.Envelope))
	case r.Err() == nil:
		speech.End(inWords(r))
	case speech.said.Len() > 0:
		speech.write("\n")
		speech.flush()
	}
	return r.Err()
}

// Chunk writes the next piece. After a gap it writes nothing more: End has the
// whole.
func (s *Speech) Chunk(c client.Chunk) {
	if c.Offset == 0 && s.said.Len() > 0 { // a new owner, or a new turn, starts over
		s.write("\n")
		s.said.Reset()
	}
	if c.Offset == s.said.Len() {
		s.said.WriteString(c.Text)
		s.write(c.Text)
	}
}

// End writes what is left of the whole reply, and ends its line.
func (s *Speech) End(whole string) {
	said := s.said.String()
	rest, ok := strings.CutPrefix(whole, said)
	head, cut := strings.CutSuffix(whole, "…") // too long for a message
	switch {
	case ok:
		s.write(rest + "\n")
	case cut && strings.HasPrefix(said, head):
		s.write("\n")
	default:
		s.write("\n" + whole + "\n")
	}
	s.flush()
}

func (s *Speech) flush() {
	if s.markdown != nil {
		s.markdown.Flush()
	}
}

func (s *Speech) write(text string) {
	if s.safe {
		text = terminal.Printable(text)
	}
	if s.markdown != nil {
		s.markdown.WriteString(text)
		return
	}
	_, _ = io.WriteString(s.w, text) // as with fmt.Print, there is no place to report it
}

// inWords is a reply in words: of an attachment, where it is.
func inWords(r client.Reply) string {
	lines := []string{r.Text}
	if r.Text == "" {
		lines = nil
	}
	for _, m := range r.Media {
		where := m.URL
		if m.Object != "" {
			where = "nats object get " + bus.FilesBucket + " " + m.Object
		}
		lines = append(lines, "["+m.Kind+": "+where+"]")
	}
	return strings.Join(lines, "\n")
}
