package main

import (
	"io"
	"strings"

	"agenthost/bus"
	"agenthost/internal/control"
	"agenthost/internal/terminal"
)

// A speech writes an answer as it comes, and at the end what of it is missing.
type speech struct {
	w    io.Writer
	safe bool // w is a terminal, which control characters would confuse
	// markdown shows the text, where it is shown as Markdown.
	markdown *terminal.Markdown
	said     strings.Builder
}

// chunk writes the next piece. After a gap it writes nothing more: end has the
// whole.
func (s *speech) chunk(c control.Chunk) {
	if c.Offset == 0 && s.said.Len() > 0 { // a new owner, or a new turn, begins anew
		s.write("\n")
		s.said.Reset()
	}
	if c.Offset == s.said.Len() {
		s.said.WriteString(c.Text)
		s.write(c.Text)
	}
}

// end writes what is left of the whole answer, and ends its line.
func (s *speech) end(whole string) {
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
	if s.markdown != nil {
		s.markdown.Flush()
	}
}

func (s *speech) write(text string) {
	if s.safe {
		text = printable(text)
	}
	if s.markdown != nil {
		s.markdown.WriteString(text)
		return
	}
	_, _ = io.WriteString(s.w, text) // as with fmt.Print, nobody is left to tell
}

// spoken is an answer in words: of an attachment, where it is.
func spoken(r bus.Route) string {
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
