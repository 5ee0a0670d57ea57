package markdown

import (
	"fmt"
	"html"
	"strings"
)

// HTML is the subset that Matrix and mail clients show.
var HTML = Dialect{
	Escape:     html.EscapeString,
	EscapeCode: html.EscapeString,
	Bold:       Mark{"<strong>", "</strong>"},
	Italic:     Mark{"<em>", "</em>"},
	Strike:     Mark{"<del>", "</del>"},
	Code:       Mark{"<code>", "</code>"},
	Pre:        htmlPre,
	Link:       htmlLink,
	Heading: func(level int, text string) string {
		return fmt.Sprintf("<h%d>%s</h%d>", level, text, level)
	},
	Paragraph: func(text string) string { return "<p>" + text + "</p>" },
	Quote:     func(text string) string { return "<blockquote>\n" + text + "\n</blockquote>" },
	List:      htmlList,
	Rule:      "<hr>",
	Newline:   "<br>\n",
	Blocks:    "\n",
}

func htmlPre(code, language string) string {
	if language == "" {
		return "<pre><code>" + code + "\n</code></pre>"
	}
	return `<pre><code class="language-` + html.EscapeString(language) + `">` + code + "\n</code></pre>"
}

func htmlLink(text, url string) string {
	url = html.EscapeString(url)
	if text == "" {
		text = url
	}
	return `<a href="` + url + `">` + text + "</a>"
}

func htmlList(ordered bool, start int, items []string) string {
	var b strings.Builder
	switch {
	case !ordered:
		b.WriteString("<ul>\n")
	case start == 1:
		b.WriteString("<ol>\n")
	default:
		fmt.Fprintf(&b, "<ol start=\"%d\">\n", start)
	}
	for _, item := range items {
		b.WriteString("<li>" + item + "</li>\n")
	}
	if ordered {
		return b.String() + "</ol>"
	}
	return b.String() + "</ul>"
}
