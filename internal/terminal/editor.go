package terminal

import (
	"io"
	"strconv"
	"strings"
	"sync"
	"time"
)

// An Editor is the line that a person types on a terminal in raw mode, behind
// what a program has written last: its prompt. Everything that goes to the
// terminal goes through Write, which keeps the two apart. It is safe for
// concurrent use.
type Editor struct {
	out   io.Writer
	width func() int // of the terminal, by now

	mu      sync.Mutex
	tail    string // of what was written: the line of the cursor
	wrote   time.Time
	status  string // behind the tail, before what is typed
	drawn   int    // columns of status and text that are on the screen before the cursor
	text    []rune
	at      int      // of the cursor in text
	history []string // the oldest first
	recall  int      // how far back the person has gone
	draft   []rune   // what was typed before that
}

// NewEditor makes an editor that draws on out.
func NewEditor(out io.Writer, width func() int) *Editor { return &Editor{out: out, width: width} }

// Remember adds what was typed before, for the arrows up and down.
func (e *Editor) Remember(lines ...string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, line := range lines {
		if n := len(e.history); line != "" && (n == 0 || e.history[n-1] != line) {
			e.history = append(e.history, line)
		}
	}
	e.recall = 0
}

// Write writes before what is typed.
func (e *Editor) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.erase()
	e.status, e.wrote = "", time.Now()
	err := e.put(string(p))
	e.draw()
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

// Status shows a text behind what was written, unless that was just now, until
// something is written.
func (e *Editor) Status(text string, after time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if time.Since(e.wrote) < after {
		return
	}
	e.erase()
	e.status = text
	e.draw()
}

// Tail is the line that what was written has begun and not ended.
func (e *Editor) Tail() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.tail
}

// put writes text and notes where the cursor is.
func (e *Editor) put(text string) error {
	_, err := io.WriteString(e.out, strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", "\r\n"))
	e.tail += text
	if i := strings.LastIndexAny(e.tail, "\r\n"); i >= 0 {
		e.tail = e.tail[i+1:]
	}
	e.tail = unstyled(e.tail)
	return err
}

// unstyled is text without escape sequences such as Paint writes.
func unstyled(text string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, "\x1b[")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		end := strings.IndexFunc(after, func(r rune) bool { return r >= '@' && r <= '~' })
		if end < 0 {
			return b.String()
		}
		text = after[end+1:]
	}
}

// erase takes status and text off the screen.
func (e *Editor) erase() {
	if e.drawn > 0 {
		_, _ = io.WriteString(e.out, "\x1b["+strconv.Itoa(e.drawn)+"D")
	}
	if e.drawn > 0 || len(e.text) > 0 {
		_, _ = io.WriteString(e.out, "\x1b[K")
	}
	e.drawn = 0
}

// leastRoom is how many columns a line being typed needs to be shown.
const leastRoom = 8

// draw puts status and text behind the tail, on its line: of a long text the part
// around the cursor.
func (e *Editor) draw() {
	width := max(e.width(), leastRoom)
	room := width - Width(e.tail)%width - 1
	if room < leastRoom {
		return
	}
	if e.status != "" {
		status := Cut(e.status, room)
		_, _ = io.WriteString(e.out, status)
		e.drawn += Width(unstyled(status))
		room -= e.drawn
	}
	if len(e.text) == 0 || room < leastRoom {
		return
	}
	before, after := window(e.text, e.at, room)
	_, _ = io.WriteString(e.out, before+after)
	if n := Width(after); n > 0 {
		_, _ = io.WriteString(e.out, "\x1b["+strconv.Itoa(n)+"D")
	}
	e.drawn += Width(before)
}

// window is what of a text fits into room, before and behind the cursor.
func window(text []rune, at, room int) (before, after string) {
	from, used := at, 0
	for from > 0 && used+runeWidth(visible(text[from-1])) <= room*3/4 {
		from--
		used += runeWidth(visible(text[from]))
	}
	to := at
	for to < len(text) && used+runeWidth(visible(text[to])) <= room {
		used += runeWidth(visible(text[to]))
		to++
	}
	for from > 0 && used+runeWidth(visible(text[from-1])) <= room {
		from--
		used += runeWidth(visible(text[from]))
	}
	return shownRunes(text[from:at]), shownRunes(text[at:to])
}

func shownRunes(text []rune) string {
	var b strings.Builder
	for _, r := range text {
		b.WriteRune(visible(r))
	}
	return b.String()
}

// visible is how a rune looks on the one line.
func visible(r rune) rune {
	switch {
	case r == '\n':
		return '↵'
	case r == '\t', Steers(r):
		return ' '
	}
	return r
}

// change has do change the text, and shows it.
func (e *Editor) change(do func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.erase()
	do()
	e.draw()
}

// insert puts text where the cursor is.
func (e *Editor) insert(text string) {
	e.change(func() {
		added := []rune(text)
		e.text = append(e.text[:e.at:e.at], append(added, e.text[e.at:]...)...)
		e.at += len(added)
	})
}

// cut removes the text between two places, and puts the cursor there.
func (e *Editor) cut(from, to int) {
	e.change(func() {
		from, to = max(min(from, to), 0), min(max(from, to), len(e.text))
		e.text = append(e.text[:from:from], e.text[to:]...)
		e.at = from
	})
}

// move puts the cursor somewhere.
func (e *Editor) move(to int) { e.change(func() { e.at = max(0, min(to, len(e.text))) }) }

// word is the place where the word before the cursor begins, or the one behind
// it ends.
func (e *Editor) word(step int) int {
	at, blank := e.at, func(i int) bool { return strings.ContainsRune(" \t\n", e.text[i]) }
	if step < 0 {
		for at > 0 && blank(at-1) {
			at--
		}
		for at > 0 && !blank(at-1) {
			at--
		}
		return at
	}
	for at < len(e.text) && blank(at) {
		at++
	}
	for at < len(e.text) && !blank(at) {
		at++
	}
	return at
}

// older shows what was typed before, or after with a step of -1.
func (e *Editor) older(step int) {
	e.change(func() {
		to := e.recall + step
		if to < 0 || to > len(e.history) {
			return
		}
		if e.recall == 0 {
			e.draft = e.text
		}
		e.recall = to
		e.text = e.draft
		if to > 0 {
			e.text = []rune(e.history[len(e.history)-to])
		}
		e.at = len(e.text)
	})
}

// enter ends the line: what was typed stays on the screen, whole.
func (e *Editor) enter() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.erase()
	line := string(e.text)
	e.text, e.at, e.recall, e.draft, e.status = nil, 0, 0, nil, ""
	if n := len(e.history); line != "" && (n == 0 || e.history[n-1] != line) {
		e.history = append(e.history, line)
	}
	_ = e.put(Printable(line) + "\n") // a terminal that is gone ends the input, too
	return line
}
