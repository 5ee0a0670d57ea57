package builtin

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

// A glob matches paths with slashes: * and ? within a name, [a-z], and ** for
// any number of folders. Without a slash it matches the last name of a path.
// The zero glob matches all.
type glob struct {
	re   *regexp.Regexp
	base bool
}

func parseGlob(pattern string) (glob, error) {
	if len(pattern) > maxPattern {
		return glob{}, fmt.Errorf("glob: has %d bytes, %d are the most", len(pattern), maxPattern)
	}
	if pattern == "" {
		return glob{}, nil
	}
	if _, err := path.Match(pattern, ""); err != nil {
		return glob{}, fmt.Errorf("glob %q: syntax error", pattern)
	}
	re, err := regexp.Compile("^(?s:" + globExpression(pattern) + ")$")
	if err != nil {
		return glob{}, fmt.Errorf("glob %q: syntax error", pattern)
	}
	return glob{re: re, base: !strings.Contains(pattern, "/")}, nil
}

func globExpression(pattern string) string {
	var expr strings.Builder
	for pattern != "" {
		token, rest := globToken(pattern)
		expr.WriteString(token)
		pattern = rest
	}
	return expr.String()
}

// globToken translates what the pattern, which is valid, begins with.
func globToken(pattern string) (expr, rest string) {
	switch {
	case strings.HasPrefix(pattern, "**/"):
		return "(?:.*/)?", pattern[3:]
	case strings.HasPrefix(pattern, "**"):
		return ".*", pattern[2:]
	case pattern[0] == '*':
		return "[^/]*", pattern[1:]
	case pattern[0] == '?':
		return "[^/]", pattern[1:]
	case pattern[0] == '[':
		if end := strings.IndexByte(pattern, ']'); end > 0 {
			return pattern[:end+1], pattern[end+1:]
		}
	case pattern[0] == '\\' && len(pattern) > 1:
		return regexp.QuoteMeta(pattern[1:2]), pattern[2:]
	}
	return regexp.QuoteMeta(pattern[:1]), pattern[1:]
}

func (g glob) match(name string) bool {
	if g.re == nil {
		return true
	}
	if g.base {
		name = path.Base(name)
	}
	return g.re.MatchString(name)
}
