package slack

import (
	"context"
	"regexp"
	"strings"

	"agenthost/plugins/internal/markdown"
)

// mrkdwn is the markup of Slack's messages.
var mrkdwn = markdown.Dialect{
	Escape: escape, EscapeCode: escape,
	Bold: markdown.Around("*"), Italic: markdown.Around("_"), Strike: markdown.Around("~"), Code: markdown.Around("`"),
	Pre: func(code, _ string) string { return "```\n" + code + "\n```" },
	Link: func(text, url string) string {
		if text == "" {
			return "<" + escapeURL(url) + ">"
		}
		return "<" + escapeURL(url) + "|" + strings.ReplaceAll(text, "|", "¦") + ">"
	},
}

var escaped = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// escape keeps text from becoming a mention or a link: <!channel> would alert
// everybody.
func escape(text string) string { return escaped.Replace(text) }

var escapedURL = strings.NewReplacer("&", "&amp;", "<", "%3C", ">", "%3E", "|", "%7C")

func escapeURL(url string) string { return escapedURL.Replace(url) }

var (
	reference = regexp.MustCompile(`<([^<>]+)>`)
	unescaped = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&")
)

// plain is a text from Slack as a person has written it.
func (r *reader) plain(ctx context.Context, text string) string {
	text = r.unmention(text)
	text = reference.ReplaceAllStringFunc(text, func(found string) string {
		target, label, _ := strings.Cut(found[1:len(found)-1], "|")
		return r.spelled(ctx, target, label)
	})
	return unescaped.Replace(text)
}

// unmention takes the mention of the app out of a text, at its beginning and at its end: what
// is left may be an answer or an order, which stands alone. Within a sentence it stays, and
// where a question follows, which may be about the app.
func (r *reader) unmention(text string) string {
	rest := strings.TrimSpace(text)
	if at := reference.FindStringIndex(rest); at != nil && at[0] == 0 && r.isMe(rest[:at[1]]) {
		rest = strings.TrimLeft(rest[at[1]:], mentionMarks)
	}
	body := strings.TrimRight(rest, ".!")
	if at := strings.LastIndexByte(body, '<'); at >= 0 && r.isMe(body[at:]) {
		rest = strings.TrimRight(body[:at], mentionMarks) + rest[len(body):]
	}
	if strings.Trim(rest, mentionMarks+".!?") == "" { // "@bot!" is all that was said
		return text
	}
	return rest
}

// mentionMarks set off a mention from what is said. Slack's own space behind one does not break.
const mentionMarks = " \u00a0\t\n,:;"

// isMe reports whether a reference is to the app, and nothing else.
func (r *reader) isMe(found string) bool {
	id, ok := strings.CutPrefix(found, "<@"+r.self.User)
	return ok && strings.IndexByte(id, '>') == len(id)-1 && (id == ">" || id[0] == '|')
}

// spelled is a mention or a link in words.
func (r *reader) spelled(ctx context.Context, target, label string) string {
	switch {
	case strings.HasPrefix(target, "@"):
		user := target[1:]
		switch {
		case user == r.self.User:
			label = r.self.Name
		case label == "":
			label = r.name(ctx, user)
		}
		if label == "" {
			label = user
		}
		return "@" + strings.TrimPrefix(label, "@")
	case strings.HasPrefix(target, "#"):
		if label == "" {
			label = target[1:]
		}
		return "#" + label
	case strings.HasPrefix(target, "!"):
		if label != "" {
			return label
		}
		word, _, _ := strings.Cut(target[1:], "^")
		return "@" + word
	case label == "" || label == target || "http://"+label == target || "mailto:"+label == target:
		return strings.TrimPrefix(target, "mailto:")
	}
	return label + " (" + target + ")"
}

var (
	linked = regexp.MustCompile(`<([^<>|]+)\|([^<>]+)>`)
	bare   = regexp.MustCompile(`<((?:https?|mailto)[^<>|]+)>`)
	strong = regexp.MustCompile(`(^|[^\w*])\*([^*\n]+)\*`)
	struck = regexp.MustCompile(`(^|[^\w~])~([^~\n]+)~`)
)

// asMarkdown turns what mrkdwn has written back, but for its escapes.
func asMarkdown(text string) string {
	text = linked.ReplaceAllString(text, "[$2]($1)")
	text = bare.ReplaceAllString(text, "$1")
	text = strong.ReplaceAllString(text, "$1**$2**")
	return struck.ReplaceAllString(text, "$1~~$2~~")
}
