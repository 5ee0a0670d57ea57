package config

import (
	"errors"
	"reflect"
	"regexp"
	"strings"

	"agenthost/internal/yamldoc"
)

// secretKey knows keys whose values are to be kept from others.
var secretKey = regexp.MustCompile(`(?i)(token|secret|password|passwd|authorization|(api|access|private|signing)[_-]?key)$`)

// shortestSecret keeps what is no secret, as the "none" that some servers want
// for a key, from being taken for one.
const shortestSecret = 8

// PlainSecrets lists where secrets stand in the files of the configuration at
// path themselves: not wrong, but easily shown to others. Nothing of a secret is
// in what it tells.
func PlainSecrets(path string) []Problem {
	l := open(path, Extensions{})
	if l.root == nil {
		return nil
	}
	found, d := yamldoc.Problems{Files: l.Files}, yamldoc.NewDecoder(&l.Problems)
	d.Decode(l.root, reflect.ValueOf(new(Config)).Elem(), "")
	for at, n := range d.Values() {
		if n.Kind != yamldoc.Scalar || len(n.Source) < shortestSecret || strings.Contains(n.Source, "${") || strings.HasPrefix(at, "agents") || strings.HasPrefix(at, "defaults") {
			continue
		}
		if key := d.Key(at); secretKey.MatchString(key) {
			found.Add(n.At, "%s stands here as plain text; want ${NAME} and that variable, or ${file:path}", key)
		}
	}
	if all, ok := errors.AsType[*FileError](found.Err()); ok {
		return all.Problems
	}
	return nil
}
