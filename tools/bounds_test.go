package tools_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"agenthost/tools"
)

func TestBound(t *testing.T) {
	line := strings.Repeat("x", 99) + "\n"
	tests := map[string]struct {
		text   string
		cut    bool
		within string // shown
	}{
		"empty":                  {"", false, ""},
		"short":                  {"a\nb", false, "a\nb"},
		"just the bytes":         {strings.Repeat("x", 50<<10), false, ""},
		"a byte more":            {strings.Repeat("x", 50<<10+1), true, "1 lines left out"},
		"just the lines":         {strings.Repeat("\n", 2000), false, ""},
		"a line more":            {strings.Repeat("a\n", 2001), true, "[… 6 bytes, 3 lines left out …]"},
		"many lines":             {strings.Repeat(line, 10000), true, "lines left out"},
		"open last line":         {strings.Repeat("a\n", 2000) + "end", true, "\nend"},
		"one long line":          {"head" + strings.Repeat("é€😀", 100000) + "tail", true, "head"},
		"long lines at the ends": {strings.Repeat("é", 40<<10) + "\nmiddle\n" + strings.Repeat("€", 40<<10), true, "é"},
		"not UTF-8":              {"a\xffb", false, "a\uFFFDb"},
		"not UTF-8, and long":    {strings.Repeat("a\xff", 100000), true, "a\uFFFD"},
		"replacement characters": {strings.Repeat("\uFFFD", 100000), true, "\uFFFD\n["},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			checkBound(t, tt.text)
			shown, cut := tools.Bound(tt.text)
			if cut != tt.cut || !strings.Contains(shown, tt.within) {
				t.Errorf("got cut %v, %d bytes, want %v with %q in it", cut, len(shown), tt.cut, tt.within)
			}
		})
	}
}

func checkBound(t *testing.T, text string) {
	t.Helper()
	shown, cut := tools.Bound(text)
	if !utf8.ValidString(shown) {
		t.Error("got text that is not UTF-8")
	}
	if n := strings.Count(shown, "\n"); len(shown) > tools.MaxResultBytes || n > tools.MaxResultLines {
		t.Errorf("got %d bytes, %d lines", len(shown), n)
	}
	whole := strings.ToValidUTF8(text, "\uFFFD")
	if !cut {
		if shown != whole {
			t.Error("the text was changed")
		}
		return
	}
	head, rest, _ := strings.Cut(shown, "\n[… ")
	_, tail, _ := strings.Cut(rest, " left out …]\n")
	if !strings.HasPrefix(whole, head) || !strings.HasSuffix(whole, tail) {
		t.Error("what is shown is not the head and the tail")
	}
	if len(head)+len(tail) < tools.MaxResultBytes/3 && strings.Count(shown, "\n") < tools.MaxResultLines-10 {
		t.Errorf("got %d bytes and %d, that is less than there is room for", len(head), len(tail))
	}
}

func FuzzBound(f *testing.F) {
	f.Add("a\n", "é", uint16(3000), uint16(9))
	f.Add("\xff", "\n", uint16(60000), uint16(60000))
	f.Fuzz(func(t *testing.T, a, b string, m, n uint16) {
		text := strings.Repeat(a, int(m)) + strings.Repeat(b, int(n))
		text = strings.ReplaceAll(text[:min(len(text), 1<<20)], "[…", "[.") // what says that something is left out
		checkBound(t, text)
	})
}
