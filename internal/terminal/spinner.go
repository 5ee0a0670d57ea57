package terminal

import (
	"fmt"
	"io"
	"time"
)

const (
	spinAfter = time.Second // what is shorter needs no sign of life
	spinEvery = 120 * time.Millisecond
)

var spinFrames = []string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"}

// Spin shows on a terminal that something is under way, once it takes longer than
// a second, and for how long, until stop is called; stop waits until the line is
// clear again. On a pipe it does nothing.
func (s Screen) Spin(w io.Writer, what string) (stop func()) {
	if !s.Terminal {
		return func() {}
	}
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		s.spin(w, what, end)
	}()
	return func() {
		close(end)
		<-ended
	}
}

func (s Screen) spin(w io.Writer, what string, end <-chan struct{}) {
	begun := time.Now()
	select {
	case <-end:
		return
	case <-time.After(spinAfter):
	}
	for n := 0; ; n++ {
		text := Cut(fmt.Sprintf("%s… %ds", what, int(time.Since(begun).Seconds())), max(s.Width-3, 1))
		_, _ = fmt.Fprintf(w, "%s%s %s", ClearLine, s.Paint(Cyan, spinFrames[n%len(spinFrames)]), text)
		select {
		case <-end:
			_, _ = io.WriteString(w, ClearLine)
			return
		case <-time.After(spinEvery):
		}
	}
}
