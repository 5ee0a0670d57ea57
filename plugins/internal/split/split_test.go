package split

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func within(n int) func(string) bool {
	return func(s string) bool { return utf8.RuneCountInString(s) <= n }
}

func TestMarkdown(t *testing.T) {
	tests := map[string]struct {
		text  string
		limit int
		want  []string
	}{
		"nothing":           {"", 10, nil},
		"it fits":           {"a\n\nb\n", 10, []string{"a\n\nb"}},
		"at a paragraph":    {"one\ntwo\n\nthree four\n\nfive", 20, []string{"one\ntwo\n\nthree four", "five"}},
		"at a line":         {"one two\nthree four\nfive six", 20, []string{"one two\nthree four", "five six"}},
		"at a word":         {"one two three four five", 10, []string{"one two", "three four", "five"}},
		"within a word":     {"aaaaaaaaaaaaaaa", 10, []string{"aaaaaaaaaa", "aaaaa"}},
		"not in a rune":     {"日本語日本語", 4, []string{"日本語日", "本語"}},
		"not in a link":     {"look at [the long page](https://x.y/z) now", 32, []string{"look at", "[the long page](https://x.y/z)", "now"}},
		"not in an address": {"aaaaaaaaaahttps://x.y/abcdef", 20, []string{"aaaaaaaaaa", "https://x.y/abcdef"}},
		"a fence": {
			"text\n```go\nline one\nline two\nline three\n```\nend", 26,
			[]string{"text\n```go\nline one\n```", "```go\nline two\n```", "```go\nline three\n```\nend"},
		},
		"a long line in a fence": {
			"```\naaaa bbbb cccc\n```", 17,
			[]string{"```\naaaa bbbb\n```", "```\ncccc\n```"},
		},
		"before a fence": {"aaaa bbbb cccc\n```\nx\n```", 18, []string{"aaaa bbbb cccc", "```\nx\n```"}},
		"blank lines in a fence": {
			"```\na\n\nb\n\nc\n```", 13, []string{"```\na\n\nb\n```", "```\nc\n```"},
		},
		"nested items": {
			"- a\n    - bbbb\n    - cccc", 14, []string{"- a\n    - bbbb", "- cccc"},
		},
		"no room at all": {"ab", 0, []string{"a", "b"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Markdown(tt.text, within(tt.limit))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What stands behind a fence is opened again with each piece only where it is a language.
func TestLongInfoOfAFence(t *testing.T) {
	for _, info := range []string{strings.Repeat("x", 180), strings.Repeat("x", 300), "go title=" + strings.Repeat("x", 170)} {
		code := strings.Repeat("some code\n", 100)
		pieces := Markdown("```"+info+"\n"+code+"```", within(200))
		if len(pieces) > 10 {
			t.Errorf("info of %d characters: %d pieces, of which the first are %q", len(info), len(pieces), pieces[:3])
		}
		var joined string
		for _, p := range pieces {
			if !within(200)(p) {
				t.Errorf("a piece has %d characters: %q", utf8.RuneCountInString(p), p)
			}
			joined += p
		}
		if n := strings.Count(joined, "some code"); n != 100 {
			t.Errorf("info of %d characters: %d lines of 100", len(info), n)
		}
	}
}

// bare is what must come through: all but white space, and fences that were closed
// and opened again.
func bare(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}

func FuzzMarkdown(f *testing.F) {
	f.Add("one two\n\n- three [four](https://five.six)\n  seven", 12)
	f.Add(strings.Repeat("日本語 text\n\n", 40), 50)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		if limit < 8 || limit > 4000 || !utf8.ValidString(text) || strings.ContainsAny(text, "`~") {
			return
		}
		pieces := Markdown(text, within(limit))
		for _, p := range pieces {
			if !within(limit)(p) || !utf8.ValidString(p) || p == "" {
				t.Errorf("piece %q of %d runes, limit %d", p, utf8.RuneCountInString(p), limit)
			}
		}
		if diff := cmp.Diff(bare(text), bare(strings.Join(pieces, ""))); diff != "" {
			t.Error(diff)
		}
	})
}

func FuzzFences(f *testing.F) {
	f.Add("a\nb c d\n\ne\nf", "text", 24)
	f.Fuzz(func(t *testing.T, code, text string, limit int) {
		if limit < 24 || limit > 4000 || !utf8.ValidString(code) || !utf8.ValidString(text) || strings.ContainsAny(code+text, "`~") {
			return
		}
		source := text + "\n```lang\n" + code + "\n```\n" + text
		var joined string
		for _, p := range Markdown(source, within(limit)) {
			if !within(limit)(p) {
				t.Errorf("piece %q of %d runes, limit %d", p, utf8.RuneCountInString(p), limit)
			}
			if strings.Count(p, "```")%2 != 0 {
				t.Errorf("piece %q has a fence that is open", p)
			}
			joined += p
		}
		strip := strings.NewReplacer("```lang", "", "```", "")
		if diff := cmp.Diff(bare(text+code+text), bare(strip.Replace(joined))); diff != "" {
			t.Error(diff)
		}
	})
}

// A line of a text, of a language whose runes have several bytes, is cut by the bytes.
func TestWords(t *testing.T) {
	for name, tt := range map[string]struct {
		line  string
		limit int
		want  []string
	}{
		"at a word":                            {"one two three", 8, []string{"one two", "three"}},
		"within a word":                        {"abcdefgh ij", 4, []string{"abcd", "efgh", "ij"}},
		"fits":                                 {"one", 3, []string{"one"}},
		"a rune that does not fit":             {"😀😀", 2, []string{"😀", "😀"}},
		"a rune at a power of two":             {"Für alle", 6, []string{"Für", "alle"}},
		"a curly apostrophe":                   {"It’s so, it’s so", 8, []string{"It’s", "so,", "it’s", "so"}},
		"runes of three bytes and one of four": {"日本語😀日本語😀", 14, []string{"日本語😀", "日本語😀"}},
		"bytes that are no runes":              {"a\x80\x80\x80\x80 b", 3, []string{"a\x80\x80", "\x80\x80", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Words(tt.line, ofBytes(tt.limit))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// ofBytes fits what has so many bytes at most.
func ofBytes(limit int) func(string) bool {
	return func(s string) bool { return len(s) <= limit }
}

func FuzzWords(f *testing.F) {
	f.Add("Für diese Frage gilt folgendes, und zwar überall", 20)
	f.Add(strings.Repeat("日本語😀", 40), 50)
	f.Fuzz(func(t *testing.T, line string, limit int) {
		if limit < utf8.UTFMax || limit > 4000 || !utf8.ValidString(line) || strings.Contains(line, "\n") {
			return
		}
		pieces := Words(line, ofBytes(limit))
		for _, p := range pieces {
			if len(p) > limit || !utf8.ValidString(p) {
				t.Errorf("piece %q of %d bytes, limit %d", p, len(p), limit)
			}
		}
		if diff := cmp.Diff(bare(line), bare(strings.Join(pieces, ""))); diff != "" {
			t.Error(diff)
		}
	})
}

// TestPieces holds texts made by chance against what Markdown promises.
func TestPieces(t *testing.T) {
	words := []string{
		"word", "日本語", "[a link](https://x.y/z)", "https://x.y/abc", "\n", "\n\n", " ", "- item", "    indented", "longlonglonglonglonglonglong",
		"\n```go\ncode one\n\ncode two\n```\n", "\n~~~\ncode\n~~~\n", "> quote", "# heading", "| a | b |", "**bold**",
	}
	random := rand.New(rand.NewPCG(1, 2))
	strip := strings.NewReplacer("```go", "", "```", "", "~~~", "")
	for range 2000 {
		var text strings.Builder
		for range random.IntN(60) {
			text.WriteString(words[random.IntN(len(words))] + " ")
		}
		limit := 24 + random.IntN(200)
		pieces := Markdown(text.String(), within(limit))
		for _, p := range pieces {
			if !within(limit)(p) || strings.TrimSpace(p) == "" || strings.Count(p, "[") != strings.Count(p, ")") {
				t.Fatalf("limit %d: %q: piece %q", limit, text.String(), p)
			}
		}
		if diff := cmp.Diff(bare(strip.Replace(text.String())), bare(strip.Replace(strings.Join(pieces, "\n")))); diff != "" {
			t.Fatalf("limit %d: %q: %s", limit, text.String(), diff)
		}
	}
}

func TestLongTextIsCutQuickly(t *testing.T) {
	text := strings.Repeat(strings.Repeat("word ", 100)+"\n\n", 2000) // 1 MB
	calls := 0
	pieces := Markdown(text, func(s string) bool { calls += len(s); return len(s) <= 2000 })
	if len(pieces) < 500 || calls > 50*len(text) {
		t.Errorf("%d pieces; %d bytes were measured", len(pieces), calls)
	}
}

// A text that fits is one piece, however long it is.
func TestMarkdownThatFits(t *testing.T) {
	t.Parallel()
	for _, paragraphs := range []int{1, 6, 7, 10, 13, 14, 300} { // of 310 bytes; 2,048 are measured at once
		text := strings.TrimSpace(strings.Repeat(strings.Repeat("words ", 51)+"\n\n", paragraphs))
		for _, limit := range []int{len(text), len(text) + 1, 4 * len(text)} {
			pieces := Markdown(text, func(piece string) bool { return len(piece) <= limit })
			if len(pieces) != 1 || pieces[0] != text {
				t.Errorf("%d bytes of at most %d: %d pieces", len(text), limit, len(pieces))
			}
		}
	}
	if pieces := Markdown(strings.Repeat("x", 5000), func(string) bool { return true }); len(pieces) != 1 {
		t.Errorf("one long word: %d pieces", len(pieces))
	}
}
