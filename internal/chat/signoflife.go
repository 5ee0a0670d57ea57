package chat

import (
	"fmt"
	"strings"
	"time"

	"agenthost/internal/cli"
	"agenthost/internal/terminal"
)

// signOfLife shows that a reply is on its way, and since when, while nothing
// else is shown, until calm.
func (c *Chat) signOfLife() (calm func()) {
	if c.editor == nil {
		return func() {}
	}
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		frames, begun := []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"), time.Now()
		for n := 0; ; n++ {
			select {
			case <-end:
				return
			case <-time.After(lifeEvery):
			}
			if strings.HasSuffix(c.editor.Tail(), youPrompt) { // it is the person's turn
				continue
			}
			text := fmt.Sprintf("%c %s ", frames[n%len(frames)], cli.Elapsed(time.Since(begun)))
			c.editor.Status(c.screen.Paint(terminal.Dim, text), lifeAfter)
		}
	}()
	return func() {
		close(end)
		<-ended
	}
}
