package config

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"

	"agenthost/bus"
	"agenthost/hooks"
	"agenthost/internal/httpauth"
	"agenthost/internal/yamldoc"
)

var token = regexp.MustCompile(`^[a-z0-9_-]{1,63}$`)

var serviceName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

const wantToken = "want 1 to 63 of a-z, 0-9, _ and -"

// A checker finds what the types do not: values, and names that refer to
// nothing.
type checker struct {
	*yamldoc.Decoder
	c   *Config
	own Extensions
	ids []string // of the agents; nil when one of them could not be read

	partial bool // a file is missing from c
	folder  string
	shelf   shelf
}

func (k *checker) check() {
	k.checkNATS()
	k.checkHTTP()
	k.checkModels()
	k.checkTools()
	k.checkPlugins()
	k.checkHooks()
	k.checkAgents()
	k.checkTokens()
	k.checkIdentities()
	k.checkBound()
	k.checkHookScopes()
	k.checkDefaults()
	k.checkFiles()
	slices.SortStableFunc(k.c.Warnings, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

// warn is fault for what keeps no host from starting. Its text is what, and after
// a semicolon the cure.
func (k *checker) warn(path, format string, args ...any) {
	at := k.NodeAt(path).At
	k.c.Warnings = append(k.c.Warnings, at.Problem(fmt.Sprintf(format, args...)))
}

func (k *checker) token(path, what, value string) {
	if value != "" && !token.MatchString(value) {
		k.Fault(path, "%s %s: %s", what, k.Quote(path), wantToken)
	}
}

// oneOf checks a value that may be absent.
func (k *checker) oneOf(path, value string, known ...string) {
	if value != "" && !slices.Contains(known, value) {
		k.Fault(path, "%s %s: %s", k.Key(path), k.Quote(path), choices(value, known))
	}
}

// choices names what is right, and of these what was meant.
func choices(value string, known []string) string {
	text := "want " + yamldoc.Alternatives(known)
	if near := yamldoc.Nearest(value, known); near != "" {
		text += fmt.Sprintf("; did you mean %q?", near)
	}
	return text
}

// required reports an absent value.
func (k *checker) required(path, value, key, what string) bool {
	if value == "" {
		k.Fault(path, "%s", what+" has no "+key+"; add "+key+":")
	}
	return value != ""
}

func (k *checker) checkHTTP() {
	listen := k.c.HTTP.Listen
	if listen == "" {
		return
	}
	if !validAddress(listen) {
		k.Fault("http.listen", "listen %s: want host:port, such as %s", k.Quote("http.listen"), DefaultListen)
		return
	}
	if !loopback(listen) && k.c.HTTP.Token == "" && len(k.c.HTTP.Tokens) == 0 && !k.Failed("http.token") && !k.Failed("http.tokens") {
		k.Fault("http.listen", "listen %s is open to other machines; add token:, or listen on %s", k.Quote("http.listen"), DefaultListen)
	}
}

// checkTokens checks who may call besides whoever has the one token.
func (k *checker) checkTokens() {
	names, values := map[string]bool{httpauth.Operator: true}, map[string]bool{k.c.HTTP.Token: true}
	for i, t := range k.c.HTTP.Tokens {
		at := fmt.Sprintf("http.tokens[%d]", i)
		if k.required(at+".name", t.Name, "name", "the token") {
			k.token(at+".name", "name", t.Name)
			if t.Name == httpauth.Operator {
				k.Fault(at+".name", "name %q is whoever has http.token; want another", t.Name)
			} else if names[t.Name] {
				k.Fault(at+".name", "name %s stands there twice; want another", k.Quote(at+".name"))
			}
		}
		if k.required(at+".token", t.Token, "token", "the token "+strconv.Quote(t.Name)) && values[t.Token] {
			k.Fault(at+".token", "token: the same as another; want one of its own")
		}
		if k.required(at+".role", string(t.Role), "role", "the token "+strconv.Quote(t.Name)) {
			k.oneOf(at+".role", string(t.Role), string(httpauth.Admin), string(httpauth.Read), string(httpauth.Chat))
		}
		names[t.Name], values[t.Token] = true, true
		k.checkAgentNames(at, t.Agents)
	}
}

// checkAgentNames reports names below the key agents at a path that no agent has.
func (k *checker) checkAgentNames(at string, names []string) {
	for i, name := range names {
		if p := fmt.Sprintf("%s.agents[%d]", at, i); k.ids != nil && !slices.Contains(k.ids, name) {
			k.Fault(p, "there is no agent %s; %s", k.Quote(p), yamldoc.Suggest(name, k.ids))
		}
	}
}

func (k *checker) checkHooks() {
	count := make(map[string]int)
	for i, h := range k.c.Hooks {
		if count[h.On]++; count[h.On] == hooks.MaxPerName+1 {
			at := k.NodeAt(fmt.Sprintf("hooks[%d]", i)).At
			text := fmt.Sprintf("more than %d hooks on %s; the host leaves out this one and those after it", hooks.MaxPerName, h.On)
			k.c.HookFaults = append(k.c.HookFaults, at.Problem(text))
		}
		for key, fault := range h.Check() {
			path := fmt.Sprintf("hooks[%d].%s", i, key)
			if near := yamldoc.Nearest(h.On, hooks.Points()); key == "on" && near != "" {
				fault += fmt.Sprintf("; did you mean %q?", near)
			}
			if k.Set(path) {
				k.Fault(path, "%s %s: %s", key, k.Quote(path), fault)
			} else {
				k.Fault(path, "the hook has no %s; %s", key, fault)
			}
		}
		if h.Subject != "" && (bus.StoredSubject(h.Subject) || bus.HostSubject(h.Subject)) { // the stream would answer
			path := fmt.Sprintf("hooks[%d].subject", i)
			k.Fault(path, "subject %s: a stream keeps what is published there; want one of the responder's own, such as acme.moderate", k.Quote(path))
		}
	}
}

func validURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https")
}

func validAddress(address string) bool {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return err == nil
}

func loopback(address string) bool {
	host, _, _ := net.SplitHostPort(address)
	return bus.Loopback(host)
}

// sorted returns the names in a table in order, for messages and for checks
// that always come in the same order.
func sorted[V any](table map[string]V) []string {
	names := make([]string, 0, len(table))
	for name := range table {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
