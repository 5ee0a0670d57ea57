package terminal_test

import (
	"strings"
	"testing"

	"agenthost/internal/terminal"
)

func TestWidthCountsColumns(t *testing.T) {
	for text, want := range map[string]int{
		"":          0,
		"abc":       3,
		"naïve":     5,
		"é":         1, // an accent of its own
		"日本語":       6,
		"ｱｲｳ":       3, // halfwidth
		"🚲":         2,
		"a\u200db":  2, // a joiner
		"ŝ — ok":    6,
		"한글 test":   9,
		"\x1b[31m":  4, // no terminal gets it: what is printed is cleaned before
		"tab\there": 7,
	} {
		if got := terminal.Width(text); got != want {
			t.Errorf("%q: got %d, want %d", text, got, want)
		}
	}
}

func TestCutFits(t *testing.T) {
	for _, text := range []string{"", "a", "abcdefghij", "日本語日本語", "ab日本語", "🚲🚲🚲🚲🚲🚲", "e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301"} {
		for columns := 1; columns < 15; columns++ {
			got := terminal.Cut(text, columns)
			if terminal.Width(got) > columns {
				t.Errorf("%q in %d: got %q", text, columns, got)
			}
			if terminal.Width(text) <= columns && got != text {
				t.Errorf("%q in %d: cut to %q", text, columns, got)
			}
		}
	}
}

func table(width int, rows ...[]any) string {
	tab := terminal.NewTable(terminal.Screen{Terminal: width > 0, Width: width}, "AGENT", "KEY", "TITLE")
	for _, row := range rows {
		tab.Row(row...)
	}
	var b strings.Builder
	_ = tab.Write(&b)
	return b.String()
}

func TestTableFitsTheScreen(t *testing.T) {
	long := strings.Repeat("long", 30)
	rows := [][]any{
		{"ana", "web/dm/7", "hello"},
		{long, "web/dm/" + long, long},
		{"日本語エージェント", "web/dm/日本", "自転車は修理できましたか。自転車は修理できましたか。"},
		{"a\nb", "c\td", 7},
	}
	for width := 10; width < 200; width++ {
		for line := range strings.SplitSeq(table(width, rows...), "\n") {
			if got := terminal.Width(line); got > width {
				t.Fatalf("%d columns: a line of %d: %q", width, got, line)
			}
		}
	}
	if whole := table(0, rows...); !strings.Contains(whole, "web/dm/"+long) || !strings.Contains(whole, "a b ") {
		t.Errorf("on a pipe: got %s", whole)
	}
}

// Where columns would be too narrow to tell anything, each row is a record, with all of its text.
func TestNarrowTableIsRecords(t *testing.T) {
	got := table(24, []any{"ana", "web/dm/7", "a title that is long"}, []any{"日本語", "route/cli/P7rD9wYLu5DkNhfLLHKDsB", ""})
	want := `AGENT  ana
KEY    web/dm/7
TITLE  a title that is l
       ong

AGENT  日本語
KEY    route/cli/P7rD9wY
       Lu5DkNhfLLHKDsB
TITLE
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := table(24, []any{"ana", "a", "b"}); got != "AGENT  KEY  TITLE\nana    a    b\n" {
		t.Errorf("what fits: got\n%s", got)
	}
}

func TestTableKeepsShortColumns(t *testing.T) {
	got := table(40, []any{"ana", "web/dm/7", strings.Repeat("x", 100)})
	want := "AGENT  KEY       TITLE\nana    web/dm/7  " + strings.Repeat("x", 22) + "…\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestTableAlignsWideCharacters(t *testing.T) {
	lines := strings.Split(table(0, []any{"日本", "a", "x"}, []any{"abcd", "a", "x"}), "\n")
	if lines[1] != "日本   a    x" || lines[2] != "abcd   a    x" {
		t.Errorf("got %q", lines)
	}
}

func TestColourOnlyWhereThereIsSome(t *testing.T) {
	row := []any{terminal.Styled{Text: "ana", Style: terminal.Red}, "k", "t"}
	for color, want := range map[bool]string{true: "\x1b[31mana\x1b[0m    k", false: "ana    k"} {
		tab := terminal.NewTable(terminal.Screen{Color: color}, "AGENT", "K", "T")
		tab.Row(row...)
		var b strings.Builder
		_ = tab.Write(&b)
		if !strings.Contains(b.String(), want) {
			t.Errorf("colour %v: got %q, want %q", color, b.String(), want)
		}
		if !color && strings.Contains(b.String(), "\x1b") {
			t.Errorf("without colour: %q", b.String())
		}
	}
}

// A time that is cut says another time: other columns are cut instead.
func TestTableKeepsWholeCells(t *testing.T) {
	const at = "2026-11-28 10:00:00"
	write := func(width int) string {
		tab := terminal.NewTable(terminal.Screen{Terminal: true, Width: width}, "AGENT", "KEY", "LAST", "TITLE")
		tab.Row("a", "web", terminal.Whole("-"), "t")
		tab.Row("customer_service", "telegram.sales/dm/1234567890", terminal.Whole(at), "Where is my order?")
		var b strings.Builder
		_ = tab.Write(&b)
		return b.String()
	}
	for width := 26; width < 100; width++ { // narrower ones break all lines
		if got := write(width); !strings.Contains(got, at) {
			t.Errorf("%d columns: got\n%s", width, got)
		}
	}
	if got := write(60); !strings.Contains(got, "custo") || !strings.HasPrefix(got, "AGENT") || strings.Count(got, "\n") != 3 {
		t.Errorf("got\n%s", got)
	}
}
