package tools

import (
	"regexp"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// An unchecked is a pattern that only other regular expression engines can
// match: everything passes, and the tool's own check decides.
type unchecked string

// MatchString is always true.
func (unchecked) MatchString(string) bool { return true }

func (u unchecked) String() string { return string(u) }

// lookaround makes plain groups of those that look ahead or back.
var lookaround = strings.NewReplacer("(?=", "(?:", "(?!", "(?:", "(?<=", "(?:", "(?<!", "(?:")

// pattern reads a regular expression of a schema. JavaScript has lookarounds,
// which the schemas of its libraries use for e-mail addresses, and Go has not:
// such a pattern is no reason to give up the schema.
func pattern(text string) (jsonschema.Regexp, error) {
	re, err := regexp.Compile(text)
	if err == nil {
		return re, nil
	}
	if plain := lookaround.Replace(text); plain != text {
		if _, wrong := regexp.Compile(plain); wrong == nil {
			return unchecked(text), nil
		}
	}
	return nil, err
}
