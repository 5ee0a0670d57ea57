package terminal_test

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"agenthost/internal/terminal"
)

// A grid is the last line of a terminal with so many columns, as far as an Editor
// moves on it.
type grid struct {
	columns int
	line    []rune // a wide letter has a 0 behind it
	at      int
}

func (g *grid) Write(p []byte) (int, error) {
	text := []rune(string(p))
	for i := 0; i < len(text); i++ {
		switch r := text[i]; r {
		case '\r':
			g.at = 0
		case '\n':
			g.line, g.at = nil, 0
		case '\x1b':
			n, end := 0, i+2
			for ; text[end] >= '0' && text[end] <= '?'; end++ {
				if text[end] >= '0' && text[end] <= '9' {
					n = n*10 + int(text[end]-'0')
				}
			}
			switch text[end] {
			case 'D':
				g.at -= n
			case 'K':
				g.line = g.line[:min(g.at, len(g.line))]
			}
			i = end
		default:
			g.put(r)
		}
	}
	return len(p), nil
}

func (g *grid) put(r rune) {
	for len(g.line) < g.at+2 {
		g.line = append(g.line, ' ')
	}
	g.line[g.at] = r
	g.line = g.line[:max(g.at+1, len(g.line)-1)]
	if g.at++; terminal.Width(string(r)) == 2 {
		g.line = append(g.line[:g.at], append([]rune{0}, g.line[g.at:]...)...)
		g.at++
	}
}

func (g *grid) String() string {
	return strings.TrimRight(strings.ReplaceAll(string(g.line), "\x00", ""), " ")
}

// typed is the lines that an editor makes of keys.
func typed(t *testing.T, keys string) (lines []string, err error) {
	t.Helper()
	e := terminal.NewEditor(&grid{columns: 80}, func() int { return 80 })
	in := bufio.NewReader(strings.NewReader(keys))
	for {
		line, err := e.ReadLine(in)
		if err != nil {
			return lines, err
		}
		lines = append(lines, line)
	}
}

func TestKeysEditTheLine(t *testing.T) {
	const left, right, up, down, home, end = "\x1b[D", "\x1b[C", "\x1b[A", "\x1b[B", "\x1b[H", "\x1bOF"
	for name, tt := range map[string]struct{ keys, want string }{
		"plain":                 {"hello\r", "hello"},
		"wide":                  {"日本語\x7f\r", "日本"},
		"insert":                {"helo" + left + "l\r", "hello"},
		"backspace and delete":  {"abcd" + left + left + "\x7f\x1b[3~\r", "ad"},
		"at the ends":           {"\x7f\x1b[3~" + left + right + "a" + right + "\r", "a"},
		"home and end":          {"b" + home + "a" + end + "c\r", "abc"},
		"Ctrl-A and Ctrl-E":     {"b\x01a\x05c\r", "abc"},
		"Ctrl-K":                {"abcd" + left + left + "\x0b\r", "ab"},
		"Ctrl-U":                {"abcd" + left + left + "\x15\r", "cd"},
		"Ctrl-W":                {"one two  \x17\x17x\r", "x"},
		"words":                 {"one two\x1bb\x1bb\x1bfX\r", "oneX two"},
		"words by Ctrl":         {"one two\x1b[1;5DX\r", "one Xtwo"},
		"Alt-Backspace":         {"one two\x1b\x7f\r", "one "},
		"Ctrl-C takes all away": {"one\x03two\r", "two"},
		"Ctrl-D deletes":        {"ab\x01\x04\r", "b"},
		"Alt-Enter":             {"a\x1b\rb\r", "a\nb"},
		"Ctrl-J":                {"a\nb\r", "a\nb"},
		"backslash":             {"a\\\rb\r", "a\nb"},
		"backslash inside":      {"a\\b\r", "a\\b"},
		"paste":                 {"<\x1b[200~one\r\ntwo\rthree\x1b[31m\x1b[201~>\r", "<one\ntwo\nthree[31m>"},
		"unknown keys":          {"a\x1b[15~\x1bx\x1b[99;99;99;99;99;99;99zb\x00\x1d\r", "a9;99zb"},
		"not UTF-8":             {"a\xff\xfeb\r", "ab"},
		"signs that steer":      {"a\u202eb\u009bc\r", "abc"},
		"nothing":               {"\r", ""},
	} {
		lines, err := typed(t, tt.keys)
		if !errors.Is(err, io.EOF) || len(lines) != 1 || lines[0] != tt.want {
			t.Errorf("%s: got %q, %v; want %q", name, lines, err, tt.want)
		}
	}
	history := "one\rtwo\rtwo\r" + up + up + "!\r" + up + up + up + up + down + down + "\rdraft" + up + down + "\r"
	lines, _ := typed(t, history)
	if got, want := strings.Join(lines, "|"), "one|two|two|one!|one!|draft"; got != want {
		t.Errorf("history: got %s, want %s", got, want)
	}
}

func TestEndsOfTheInput(t *testing.T) {
	for keys, want := range map[string]error{"\x04": io.EOF, "\x03": terminal.ErrInterrupt, "ab": io.EOF, "\x1b": io.EOF, "\x1b[": io.EOF, "\x1b[200~abc": io.EOF} {
		if lines, err := typed(t, keys); !errors.Is(err, want) || len(lines) > 0 {
			t.Errorf("%q: got %q, %v; want %v", keys, lines, err, want)
		}
	}
}

// What a program writes stands before what is typed, and takes nothing of it away.
func TestWritingKeepsWhatIsTyped(t *testing.T) {
	g := &grid{columns: 40}
	e := terminal.NewEditor(g, func() int { return g.columns })
	keys, hands := io.Pipe()
	lines := make(chan string, 1)
	go func() {
		line, _ := e.ReadLine(bufio.NewReader(keys))
		lines <- line
	}()
	write := func(text string) {
		if _, err := e.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	write("hello\nyou> ")
	if _, err := io.WriteString(hands, "日本x\x1b[D"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(hands, "a"); err != nil { // the keys before are taken by then
		t.Fatal(err)
	}
	write(terminal.ClearLine + "\x1b[2mlog\x1b[0m\nana> ")
	if got := e.Tail(); got != "ana> " {
		t.Errorf("tail: got %q", got)
	}
	e.Status("3s ", time.Hour)
	write("an answer ")
	e.Status("3s ", 0)
	write("and more")
	if _, err := io.WriteString(hands, "\r"); err != nil {
		t.Fatal(err)
	}
	if got := <-lines; got != "日本ax" {
		t.Errorf("got %q", got)
	}
}

func TestLongLineIsShownAroundTheCursor(t *testing.T) {
	for _, text := range []string{strings.Repeat("abcdefghij", 20), strings.Repeat("日本語", 40)} {
		g := &grid{columns: 40}
		e := terminal.NewEditor(g, func() int { return g.columns })
		if _, err := e.Write([]byte("you> ")); err != nil {
			t.Fatal(err)
		}
		keys := text
		for range 250 {
			keys += "\x1b[D"
			in := bufio.NewReader(strings.NewReader(keys))
			keys = ""
			if _, err := e.ReadLine(in); !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			if got := g.String(); terminal.Width(got) > 40 || !strings.HasPrefix(got, "you> ") {
				t.Fatalf("got %q, %d columns", got, terminal.Width(got))
			}
		}
		if got := g.String(); !strings.HasPrefix(got, "you> "+text[:12]) {
			t.Errorf("at the beginning: got %q", got)
		}
	}
}

func FuzzKeys(f *testing.F) {
	f.Add("hello\x1b[D\x1b[200~x\x1b[201~\r", 80)
	f.Add("日本\x17\x0c\n\\\r\x03", 3)
	f.Fuzz(func(_ *testing.T, keys string, width int) {
		e := terminal.NewEditor(io.Discard, func() int { return width })
		in := bufio.NewReader(strings.NewReader(keys))
		for {
			e.Status("…", 0)
			if _, err := e.ReadLine(in); errors.Is(err, io.EOF) {
				return
			}
		}
	})
}
