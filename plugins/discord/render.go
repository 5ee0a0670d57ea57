package discord

import (
	"regexp"
	"strings"

	"agenthost/plugins/internal/markdown"
)

// dialect is Discord's own Markdown.
var dialect = markdown.Dialect{
	Escape: escape,
	// A backtick in code would end it.
	EscapeCode: strings.NewReplacer("`", "ˋ").Replace,
	Bold:       markdown.Around("**"),
	Italic:     markdown.Around("*"),
	Strike:     markdown.Around("~~"),
	Code:       markdown.Around("`"),
	Pre: func(code, language string) string {
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
