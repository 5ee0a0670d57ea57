package chat

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"time"

	"agenthost/internal/cli"
	"agenthost/internal/terminal"

	"golang.org/x/term"
)

// openEditor gives the chat a line that can be edited, where it is with a person
// at a terminal. keys is the lines that are typed from then on, nil without an
// editor; restore gives the terminal back as it was.
func (c *Chat) openEditor() (keys func(context.Context) <-chan line, restore func()) {
	none := func(context.Context) <-chan line { return nil }
	in, ok := c.Stdin.(*os.File)
	if !c.person || !ok {
		return none, func() {}
	}
	before, err := term.MakeRaw(int(in.Fd()))
	if err != nil { // the terminal's own line does, too
		return none, func() {}
	}
	stdout, stderr, fixed := c.Stdout, c.Stderr, c.Fixed
	c.editor = terminal.NewEditor(stdout, func() int { return terminal.On(stdout, c.Getenv).Width })
	screen := c.screen
	c.Fixed, c.Stdout = &screen, c.editor
	if cli.IsTerminal(stderr) {
		c.Stderr = c.editor
	}
	_, _ = io.WriteString(stdout, terminal.PasteOn) // a terminal that is gone ends the input, too
	restore = func() {
		_, _ = io.WriteString(stdout, terminal.PasteOff)
		_ = term.Restore(int(in.Fd()), before) // nothing else can be done for it
		c.Stdout, c.Stderr, c.Fixed = stdout, stderr, fixed
	}
	return func(ctx context.Context) <-chan line { return c.readKeys(ctx, in) }, restore
}

// readKeys is readLines for what is typed into the editor. Ctrl-C is the order to
// stop while a reply is awaited, and else the end.
func (c *Chat) readKeys(ctx context.Context, r io.Reader) <-chan line {
	lines := make(chan line)
	go func() {
		defer close(lines)
		in := bufio.NewReader(r)
		for {
			text, err := c.editor.ReadLine(in)
			l := line{text: text}
			switch {
			case errors.Is(err, terminal.ErrInterrupt) && c.busy.Load():
				l.text = stopWord
			case errors.Is(err, terminal.ErrInterrupt), errors.Is(err, io.EOF):
				return
			case err != nil:
				l = line{err: err}
			}
			select {
			case lines <- l:
			case <-ctx.Done():
				return
			}
			if l.err != nil {
				return
			}
		}
	}()
	return lines
}

// newSpeech writes a reply, as Markdown where a person sees it.
func (c *Chat) newSpeech() *Speech {
	s := NewSpeech(c.App)
	s.safe = s.safe || c.person
	if c.editor != nil {
		s.markdown = terminal.NewMarkdown(c.Stdout, c.screen)
	}
	return s
}

const (
	lifeEvery = 150 * time.Millisecond
	lifeAfter = time.Second // of silence
)
