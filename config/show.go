package config

import (
	"regexp"
	"slices"
	"strings"

	"agenthost/internal/yamldoc"
)

// mask stands in the place of a secret.
const mask = "[secret]"

// secretName is the end of the name of a parameter, an argument, a variable or a header that
// is a secret.
const secretName = `(?:key|token|secret|pass|passw(?:or)?d|passphrase|pwd|[_-]pat|auth|authorization|credentials?|cookies?|sig|signature)`

var (
	// login is the password in an address, or the token in its place.
	login = regexp.MustCompile(`(://(?:[^/?#@:\s]*:)?)[^/?#\s]+@`)
	// parameter is a secret in the query of an address.
	parameter = regexp.MustCompile(`(?i)([?&][\w.-]*` + secretName + `=)[^&#\s"']+`)
	// argument is a secret among the arguments of a program, with what follows in the
	// same one: --token=…, TOKEN=…, Authorization: …
	argument = regexp.MustCompile(`(?is)((?:^|[\s"'=,])(?:-{0,2}[\w.-]*` + secretName + `["']?\s*[:=]\s*|--[\w.-]*` + secretName + `\s+))\S.*`)
	// flag has its secret in the next argument.
	flag = regexp.MustCompile(`(?i)^--?[\w.-]*` + secretName + `$`)
	// variable is the name of a secret among those that a program or a server knows.
	variable = regexp.MustCompile(`(?i)` + secretName + `$`)
)

// named are the keys whose fields have names of others, not of this configuration.
var named = []string{"env", "headers"}

// Show is c as a file would say it, without its secrets.
func Show(c *Config) ([]byte, error) {
	mappings := []any{c}
	if c.HTTP.none() { // else it would read as the default
		mappings = append(mappings, map[string]any{"http": map[string]string{"listen": ""}})
	}
	return yamldoc.Encode(new(masker).scalar, mappings...)
}

// A masker takes the secrets out of the values of a configuration, which it sees in
// their order.
type masker struct {
	flagged string // the list in which the argument before was the name of a secret
}

// scalar masks a value below a secret key, and secrets in addresses and arguments.
func (m *masker) scalar(keys []string, value string, text bool) string {
	list := strings.Join(keys, "\x00")
	flagged := m.flagged == list
	m.flagged = ""
	switch {
	case value == "":
		return ""
	case slices.ContainsFunc(keys, secretKey.MatchString), secretVariable(keys):
		return mask
	case !text:
		return value
	}
	value = login.ReplaceAllString(value, "${1}"+mask+"@")
	value = parameter.ReplaceAllString(value, "${1}"+mask)
	if len(keys) == 0 || keys[len(keys)-1] != "command" {
		return value
	}
	if flagged {
		return mask
	}
	if flag.MatchString(value) {
		m.flagged = list
	}
	return argument.ReplaceAllString(value, "${1}"+mask)
}

// secretVariable reports whether keys lead to a variable or a header that is a secret.
func secretVariable(keys []string) bool {
	last := len(keys) - 1
	return last > 0 && slices.Contains(named, keys[last-1]) && variable.MatchString(keys[last])
}

// Masked is what Show shows, for JSON: with durations such as 30s.
func Masked(c *Config) (v any, err error) {
	text, err := Show(c)
	if err == nil {
		err = yamldoc.Strict(text, &v)
	}
	return v, err
}
