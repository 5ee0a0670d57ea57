package terminal_test

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"agenthost/internal/terminal"
)

// A written takes what the spinner writes, beside the test that looks at it.
type written struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (w *written) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(p)
}

func (w *written) take() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := w.text.String()
	w.text.Reset()
	return text
}

// What takes over a second shows that it is under way, and for how long, on one
// line, and leaves nothing of it.
func TestSpinnerShowsWhatTakesOverASecond(t *testing.T) {
	const frames = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
	synctest.Test(t, func(t *testing.T) {
		var out written
		// after lets time pass and returns what has been written meanwhile.
		after := func(d time.Duration) string {
			time.Sleep(d)
			synctest.Wait()
			return out.take()
		}
		stop := terminal.Screen{Terminal: true, Width: 20}.Spin(&out, "reading data")
		if got := after(time.Second - time.Millisecond); got != "" {
			t.Errorf("before a second: got %q", got)
		}
		first := strings.Split(frames, "")[0]
		if got, want := after(2*time.Millisecond), terminal.ClearLine+first+" reading data… 1s"; got != want {
			t.Errorf("after a second: got %q, want %q", got, want)
		}
		lines := strings.Split(after(2990*time.Millisecond), terminal.ClearLine)[1:]
		if len(lines) < 2 {
			t.Fatalf("got %q, want that it moves", lines)
		}
		last := first
		for _, line := range lines {
			frame, text, _ := strings.Cut(line, " ")
			if !strings.Contains(frames, frame) || frame == last || !strings.HasPrefix(text, "reading data… ") || terminal.Width(line) > 20 {
				t.Errorf("after %s: got %q", last, line)
			}
			last = frame
		}
		if got := lines[len(lines)-1]; !strings.HasSuffix(got, "… 3s") {
			t.Errorf("just before four seconds: got %q", got)
		}
		stop()
		if got := out.take(); got != terminal.ClearLine {
			t.Errorf("stopped: got %q, want %q", got, terminal.ClearLine)
		}
		if got := after(time.Minute); got != "" {
			t.Errorf("after the end: got %q", got)
		}

		stop = terminal.Screen{Terminal: true, Width: 20}.Spin(&out, "reading data")
		got := after(time.Second / 2)
		stop()
		if got += after(time.Minute); got != "" {
			t.Errorf("half a second in all: got %q", got)
		}
		stop = terminal.Screen{Terminal: true, Width: 20}.Spin(&out, strings.Repeat("long ", 20))
		if got := strings.TrimPrefix(after(time.Second+time.Millisecond), terminal.ClearLine); terminal.Width(got) >= 20 || !strings.HasPrefix(got, first+" long ") {
			t.Errorf("it does not fit: %q", got)
		}
		stop()
		out.take()
		stop = terminal.Screen{}.Spin(&out, "reading data")
		got = after(time.Minute)
		stop()
		if got += out.take(); got != "" {
			t.Errorf("on a pipe: got %q", got)
		}
	})
}
