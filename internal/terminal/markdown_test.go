package terminal_test

import (
	"strings"
	"testing"

	"agenthost/internal/terminal"
)

// marks writes styles as letters in braces.
var marks = strings.NewReplacer("\x1b[1m", "{b:", "\x1b[3m", "{i:", "\x1b[36m", "{c:", "\x1b[0m", "}")

func rendered(color bool, pieces ...string) string {
	var b strings.Builder
	m := terminal.NewMarkdown(&b, terminal.Screen{Terminal: true, Color: color})
	for _, p := range pieces {
		m.WriteString(p)
	}
	m.Flush()
	// Signs beside each other in one style are one piece.
	return strings.NewReplacer("}{b:", "", "}{i:", "", "}{c:", "").Replace(marks.Replace(b.String()))
}

func TestMarkdownIsShown(t *testing.T) {
	for text, want := range map[string]string{
		"plain":                           "plain",
		"# Heading\ntext":                 "{b:Heading}\ntext",
		"###### six":                      "{b:six}",
		"####### seven":                   "####### seven",
		"#tag and C#":                     "#tag and C#",
		"- one\n* two\n  + three":         "• one\n• two\n  • three",
		"-5 and - 6":                      "-5 and - 6",
		"1. one":                          "1. one",
		"a **bold** word":                 "a {b:bold} word",
		"an *italic* word":                "an {i:italic} word",
		"2*3*4 and 2 * 3":                 "2*3*4 and 2 * 3",
		"a `code *x*` end":                "a {c:code *x*} end",
		"**open\nnext":                    "{b:open}\nnext",
		"trailing *":                      "trailing *",
		"```go\nx := *p\n\n# y\n```\nend": "{c:  }{c:x := *p}\n\n{c:  # y}\nend",
		"``` \nopen":                      "{c:  open}",
		"``":                              "``",
		"":                                "",
		"* * *":                           "• * *",
		"日本 **語**":                        "日本 {b:語}",
	} {
		want = strings.ReplaceAll(want, "}{c:", "")
		if got := rendered(true, text); got != want {
			t.Errorf("%q:\n got %q\nwant %q", text, got, want)
		}
		if got := rendered(true, strings.Split(text, "")...); got != want {
			t.Errorf("%q, sign by sign:\n got %q\nwant %q", text, got, want)
		}
		if got := rendered(false, text); got != text {
			t.Errorf("%q without colour: got %q", text, got)
		}
	}
}

// Whatever the marks, no letter is lost.
func FuzzMarkdown(f *testing.F) {
	for _, seed := range []string{"# a **b** `c`\n```\nd\n```", "*a* - b\n- c", "**", "a*b**c***d"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		letters := func(s string) string {
			return strings.Map(func(r rune) rune {
				if r >= '0' && r <= '9' {
					return r
				}
				return -1
			}, s)
		}
		var b strings.Builder
		m := terminal.NewMarkdown(&b, terminal.Screen{Color: true})
		m.WriteString(text)
		m.Flush()
		plain := strings.NewReplacer("\x1b[1m", "", "\x1b[3m", "", "\x1b[36m", "", "\x1b[0m", "").Replace(b.String())
		if !strings.Contains(text, "```") && !strings.Contains(text, "\x1b") && letters(plain) != letters(text) {
			t.Errorf("%q: got %q", text, plain)
		}
	})
}
