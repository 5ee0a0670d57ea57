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

// PrintReply prints what of a reply in c speech has not, and returns the error that
// the reply is. Where the reply is cut, standard error says how to read all of it.
func PrintReply(app *cli.App, c *client.Conversation, r client.Reply, speech *Speech) error {
	switch {
	case app.JSON:
		fmt.Fprintf(app.Stdout, "%s\n", cli.PrintableJSON(r.Envelope))
	case r.Err() == nil:
		speech.End(r.Text, attachments(r))
	case speech.said.Len() > 0:
		speech.write("\n")
		speech.flush()
	}
	if whole, cut := cutOf(r); cut {
		app.Warn("the answer is cut, as its %d bytes are more than a message takes; for the whole: agenthost sessions show %s %s --run %s --json",
			whole.Size, c.Agent(), sidOf(c), r.ID[:max(strings.LastIndexByte(r.ID, '.'), 0)])
	}
	return r.Err()
}

// cutOf is the attachment that has the whole text of a reply that is cut.
func cutOf(r client.Reply) (whole bus.Media, cut bool) {
	if n := len(r.Media); n > 0 && r.Media[n-1].Name == bus.WholeText && strings.HasSuffix(r.Text, "…") {
		return r.Media[n-1], true
	}
	return whole, false
}

// sidOf names the session of c in a command: its key may hold what a shell reads otherwise.
func sidOf(c *client.Conversation) string {
	sid, err := client.SessionID(c.Agent(), c.Key())
	if err != nil {
		return c.Key()
	}
	return sid
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

// End writes what is left of the text of the whole reply, and what is attached to it, in lines.
func (s *Speech) End(text string, attached []string) {
	said := s.said.String()
	rest, ok := strings.CutPrefix(text, said)
	head, cut := strings.CutSuffix(text, "…") // too long for a message
	switch {
	case ok:
		s.write(rest)
	case cut && strings.HasPrefix(said, head):
	default:
		s.write("\n" + text)
	}
	for i, line := range attached {
		if i > 0 || text != "" || said != "" {
			s.write("\n")
		}
		s.write(line)
	}
	s.write("\n")
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

// attachments are where those of a reply are.
func attachments(r client.Reply) (lines []string) {
	for _, m := range r.Media {
		where := m.URL
		if m.Object != "" {
			where = "nats object get " + bus.FilesBucket + " " + m.Object
		}
		lines = append(lines, "["+m.Kind+": "+where+"]")
	}
	return lines
}
