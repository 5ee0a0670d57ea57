package discord

import (
	"regexp"
	"strings"

	"agenthost/plugins/internal/markdown"
)

// dialect is Discord's own Markdown.
var dialect = markdown.Dialect{
	Escape:   escape,
	Bold:     markdown.Around("**"),
	Italic:   markdown.Around("*"),
	Strike:   markdown.Around("~~"),
	CodeSpan: codeSpan,
	Pre: func(code, language string) string {
		// Three backticks would end it; what cannot be seen keeps them apart.
		code = strings.ReplaceAll(code, "```", "`\u200b`\u200b`")
		return "```" + language + "\n" + code + "\n```"
	},
	Link: func(text, url string) string {
		if text == "" {
			return url
		}
		return "[" + text + "](" + url + ")"
	},
	Heading: func(level int, text string) string {
		return strings.Repeat("#", min(level, 3)) + " " + text
	},
	Bullet: "- ",
}

// codeSpan is code within a line. One with a backtick stands between two; three would begin a
// block, so where that does not do, backticks are others that look alike.
func codeSpan(code string) string {
	switch {
	case !strings.Contains(code, "`"):
		return "`" + code + "`"
	case strings.Contains(code, "``"):
		return "`" + strings.ReplaceAll(code, "`", "ˋ") + "`"
	case strings.HasPrefix(code, "`"), strings.HasSuffix(code, "`"):
		return "`` " + code + " ``"
	}
	return "``" + code + "``"
}

var (
	special   = regexp.MustCompile("[\\\\*_~`|<\\[\\]]")
	atTheHead = regexp.MustCompile(`(?m)^(\s*)([#>+-])`)
)

// escape has Discord show a text as it is: also one that looks like the mention of
// a person.
func escape(text string) string {
	text = special.ReplaceAllString(text, `\$0`)
	return atTheHead.ReplaceAllString(text, `$1\$2`)
}
