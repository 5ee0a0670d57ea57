package matrix

import (
	"net/url"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// unmention takes the mention of user out of a text, at its beginning and at its end: what is
// left may be an answer or an order, which stands alone. A name within a sentence stays.
func unmention(user, name string, said message, text string) string {
	if said.Mentions != nil && len(said.Mentions.Users) > 0 && !slices.Contains(said.Mentions.Users, user) {
		return text // another has the same name
	}
	rest := strings.TrimSpace(text)
	found := false
	for _, c := range callings(user, name, said) {
		if after, ok := c.cutFront(rest); ok {
			rest, found = after, true
			break
		}
	}
	for _, c := range callings(user, name, said) {
		if before, ok := c.cutBack(rest); ok {
			rest, found = before, true
			break
		}
	}
	if !found || strings.Trim(rest, callMarks+endMarks) == "" { // "bot!" is all that was said
		return text
	}
	return rest
}

// A calling is one way to write whom a message is for.
type calling struct {
	text string
	// alone is true for one that is a mention wherever it stands. Another may be a word of the
	// sentence, and has to be set off by a mark.
	alone bool
}

// callMarks set off whom a message is for from what is said.
const callMarks = ",:;，："

// endMarks may stand behind whom a message is for. A question may be about them.
const endMarks = ".!"

// callings are the ways to write user.
func callings(user, name string, said message) []calling {
	local, _, _ := strings.Cut(strings.TrimPrefix(user, "@"), ":")
	all := []calling{{user, true}, {"@" + local, true}}
	for _, pill := range pills(user, said.FormattedBody) {
		all = append(all, calling{"[" + pill + "](https://matrix.to/#/" + user + ")", true}, calling{pill, true})
	}
	if name != "" {
		meant := said.Mentions != nil && slices.Contains(said.Mentions.Users, user)
		all = append(all, calling{"@" + name, true}, calling{"@[" + name + "]", true}, calling{name, meant})
	}
	return append(all, calling{local, false})
}

// cutFront cuts a calling off the beginning of a text.
func (c calling) cutFront(text string) (rest string, ok bool) {
	if len(text) < len(c.text) || !strings.EqualFold(text[:len(c.text)], c.text) {
		return text, false
	}
	rest = text[len(c.text):]
	said := strings.TrimLeft(rest, callMarks)
	spaced := strings.TrimLeftFunc(said, unicode.IsSpace)
	switch {
	case said == spaced && strings.HasPrefix(c.text, "@"): // a longer Matrix ID
		return text, false
	case said == rest && (said == spaced || !c.alone):
		return text, false
	}
	return spaced, true
}

// cutBack cuts a calling off the end of a text.
func (c calling) cutBack(text string) (rest string, ok bool) {
	body := strings.TrimRight(text, endMarks)
	at := len(body) - len(c.text)
	if at < 0 || !strings.EqualFold(body[at:], c.text) {
		return text, false
	}
	before := strings.TrimRightFunc(body[:at], unicode.IsSpace)
	said := strings.TrimRight(before, ",，")
	if len(before) == at || said == before && !c.alone {
		return text, false
	}
	return said + text[len(body):], true
}

// pills are the texts of the links to user in a formatted body. In the plain one they stand for
// the links.
func pills(user, source string) (texts []string) {
	if !strings.Contains(source, "matrix.to/#/") {
		return nil
	}
	tokens := html.NewTokenizer(strings.NewReader(source))
	var text strings.Builder
	within := false
	for {
		switch tokens.Next() {
		case html.ErrorToken:
			return texts
		case html.StartTagToken:
			if t := tokens.Token(); t.DataAtom == atom.A {
				within = linksTo(t, user)
				text.Reset()
			}
		case html.TextToken:
			if within {
				text.Write(tokens.Text())
			}
		case html.EndTagToken:
			if tokens.Token().DataAtom != atom.A {
				continue
			}
			if pill := strings.TrimSpace(html.UnescapeString(text.String())); within && pill != "" {
				texts = append(texts, pill)
			}
			within = false
		}
	}
}

func linksTo(t html.Token, user string) bool {
	for _, a := range t.Attr {
		if address, err := url.PathUnescape(a.Val); a.Key == "href" && err == nil {
			return strings.HasSuffix(address, "matrix.to/#/"+user)
		}
	}
	return false
}
