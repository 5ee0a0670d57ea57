package split

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A link whose text has spaces is not cut at them, wherever in a long text it stands.
func TestLinkWithSpacesStaysWhole(t *testing.T) {
	link := "[the whole of the annual report](https://example.org/" + strings.Repeat("r", 60) + ")"
	for front := 200; front < 600; front++ {
		text := strings.Repeat("word ", front/5)[:front-front%5] + link + strings.Repeat(" word", 200)
		found := false
		for _, piece := range Markdown(text, ofBytes(500)) {
			found = found || strings.Contains(piece, link)
		}
		if !found {
			t.Fatalf("behind %d bytes the link is cut: %q", front, Markdown(text, ofBytes(500)))
		}
	}
}

// What is cut within a nested list is moved to the left as far as its first line is, for that not
// to be code: neither what is behind the list, nor code in a fence.
func TestCodeBehindANestedListKeepsItsIndentation(t *testing.T) {
	code := "```python\ndef f():\n    return 1\n```"
	nested := "    " + strings.ReplaceAll(code, "\n", "\n    ")
	for name, tt := range map[string]struct{ rest, want string }{
		"behind the list":         {"\n" + code, "\n" + code},
		"in the list":             {nested + "\n- end", code + "\n- end"},
		"in a list less deep":     {nested + "\n- end", code + "\n- end"},
		"code without a fence":    {"Such as:\n\n    x = 1", "Such as:\n\n    x = 1"},
		"a list behind the first": {"- end\n    - nested", "- end\n    - nested"},
	} {
		depth := "    "
		if name == "in a list less deep" {
			depth += depth
		}
		front := "- " + strings.Repeat("x", 40)
		pieces := Markdown(front+"\n"+depth+"- first\n"+depth+"- second\n"+tt.rest, func(piece string) bool {
			return len(piece) <= len(front) || !strings.HasPrefix(piece, front)
		})
		if want := "- first\n- second\n" + tt.want; len(pieces) != 2 || pieces[1] != want {
			t.Errorf("%s: %q, want %q at the end", name, pieces, want)
		}
	}
}

// A block of code ends at a line of its own mark alone, at least as long as the first: what looks
// like one in the code does not end it, and each piece opens it again as it was.
func TestMarksInABlockOfCode(t *testing.T) {
	for _, tt := range []struct{ mark, inner string }{
		{"````", "```"}, {"```", "~~~"}, {"~~~", "```"}, {"```", "```go"},
	} {
		text := tt.mark + "\naaaa aaaa\n" + tt.inner + "\nbbbb bbbb\n" + tt.mark + "\nend"
		want := []string{
			tt.mark + "\naaaa aaaa\n" + tt.inner + "\n" + tt.mark,
			tt.mark + "\nbbbb bbbb\n" + tt.mark + "\nend",
		}
		if diff := cmp.Diff(want, Markdown(text, within(len(text)-8))); diff != "" {
			t.Errorf("%s in %s: %s", tt.inner, tt.mark, diff)
		}
	}
}
