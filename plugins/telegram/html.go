package telegram

import (
	"html"
	"regexp"
	"strings"
	"unicode/utf16"

	"agenthost/plugins/internal/markdown"
)

// dialect is the HTML that the Bot API takes.
var dialect = markdown.Dialect{
	Escape:     html.EscapeString,
	EscapeCode: html.EscapeString,
	Bold:       markdown.Mark{Open: "<b>", Close: "</b>"},
	Italic:     markdown.Mark{Open: "<i>", Close: "</i>"},
	Strike:     markdown.Mark{Open: "<s>", Close: "</s>"},
	Code:       markdown.Mark{Open: "<code>", Close: "</code>"},
	Pre: func(code, language string) string {
		if language == "" {
			return "<pre>" + code + "</pre>"
		}
		return `<pre><code class="language-` + html.EscapeString(language) + `">` + code + "</code></pre>"
	},
	Link: func(text, url string) string {
		if text == "" {
			return html.EscapeString(url) // Telegram makes the link itself
		}
		return `<a href="` + html.EscapeString(url) + `">` + text + "</a>"
	},
	Quote: func(text string) string {
		// Quotes in quotes are refused.
		text = strings.NewReplacer("<blockquote>", "", "</blockquote>", "").Replace(text)
		return "<blockquote>" + text + "</blockquote>"
	},
}

var tags = regexp.MustCompile(`<[^<>]*>`)

// measure is the length of a text as Telegram counts it: in UTF-16 units, without
// its markup.
func measure(text string) int {
	n := 0
	for _, r := range withoutMarkup(text) {
		n += utf16.RuneLen(r)
	}
	return n
}

func withoutMarkup(text string) string {
	return html.UnescapeString(tags.ReplaceAllString(text, ""))
}
