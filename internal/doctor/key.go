package doctor

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"agenthost/llm"
)

// placeholder knows what stands in examples where a key belongs.
var placeholder = regexp.MustCompile(`(?i)^(sk-)?(\.{2,}|…|x{3,}|\*{3,}|<.*>|\[.*\]|(your|my|the|insert|put|paste|add|replace)[-_ ].*|.*(changeme|change[-_]me|placeholder|your[-_ ](api[-_ ])?key).*|todo|key|test|dummy)$`)

// keyFault says what is wrong with a key by its looks, and what would be right;
// both are empty when nothing is.
func keyFault(key string) (fault, cure string) {
	const again = "set it again, without that"
	switch {
	case strings.TrimSpace(key) != key:
		return "has blanks or a line's end around it", again
	case strings.ContainsAny(key, " \t\r\n"):
		return "has blanks inside", again
	case strings.Trim(key, "\"'`") != key:
		return "has quotes around it that are part of it", again
	case strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r > '~' }) && !placeholder.MatchString(key):
		return "has characters that no key has", again
	case strings.HasPrefix(key, "Bearer"):
		return `begins with "Bearer"`, again
	case strings.HasPrefix(key, "$"):
		return "is a variable that is not set", `write "${NAME}" in the configuration`
	case placeholder.MatchString(key):
		return "is what stands in examples", "put the key of your account there"
	}
	return "", ""
}

// needsKey reports whether the provider of c takes no call without a key: all
// of the vendors, but not a server of one's own.
func needsKey(c llm.Config) bool {
	switch c.Provider {
	case "anthropic", "gemini":
		return c.BaseURL == ""
	case "openai":
		_, known := llm.Config{Provider: c.Provider, BaseURL: c.BaseURL, Model: c.Model}.Known()
		return c.BaseURL == "" || known
	}
	return false
}

// key reports whether the key of c, by its looks, is worth showing to a server.
func (o note) key(c llm.Config) bool {
	fault, cure := keyFault(c.APIKey)
	length := counted(utf8.RuneCountInString(c.APIKey), "character")
	switch {
	case c.APIKey == "" && needsKey(c):
		o.fail(fmt.Sprintf(`set api_key, say to "${%s_API_KEY}"`, strings.ToUpper(c.Provider)), "it has no key")
		return false
	case c.APIKey == "":
		o.ok("no key, as for a server of one's own")
	case fault != "" && needsKey(c):
		o.fail(cure, "the key (%s) %s", length, fault)
		return false
	case fault != "" && !placeholder.MatchString(c.APIKey): // a server that wants none may be given anything
		o.warn(cure, "the key (%s) %s", length, fault)
	default:
		o.ok("a key of %s is set", length)
	}
	return true
}
