package config

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"agenthost/bus"
	"agenthost/hooks"
)

var token = regexp.MustCompile(`^[a-z0-9_-]{1,63}$`)

var serviceName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

const wantToken = "want 1 to 63 of a-z, 0-9, _ and -"

// A checker finds what the types do not: values, and names that refer to
// nothing.
type checker struct {
	*decoder
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
	k.checkHookScopes()
	k.checkDefaults()
	k.checkFiles()
	slices.SortStableFunc(k.c.Warnings, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

// fault reports a problem at path, or at what holds it when the file does not
// have it. What follows from a problem already reported is not one.
func (k *checker) fault(path, format string, args ...any) {
	for p := path; ; p = parent(p) {
		if k.failed[p] {
			return
		}
		if p == "" {
			break
		}
	}
	k.add(k.nodeAt(path).at, format, args...)
}

// warn is fault for what keeps no host from starting. Its text is what, and after
// a semicolon the cure.
func (k *checker) warn(path, format string, args ...any) {
	at := k.nodeAt(path).at
	k.c.Warnings = append(k.c.Warnings, Problem{at.file, at.line, at.column, fmt.Sprintf(format, args...)})
}

// nodeAt returns the value at path, or the nearest one around it.
func (k *checker) nodeAt(path string) *node {
	for k.values[path] == nil && path != "" {
		path = parent(path)
	}
	return k.values[path]
}

func parent(path string) string {
	return path[:max(0, strings.LastIndexAny(path, ".["))]
}

// set reports whether the file gives a value for path.
func (k *checker) set(path string) bool {
	n := k.values[path]
	return n != nil && !n.null()
}

// quote returns the value at path as it is written.
func (k *checker) quote(path string) string { return k.nodeAt(path).quote() }

func (k *checker) faultKey(path, format string, args ...any) {
	if !k.failed[path] {
		k.add(k.keys[path].at, format, args...)
	}
}

func (k *checker) token(path, what, value string) {
	if value != "" && !token.MatchString(value) {
		k.fault(path, "%s %s: %s", what, k.quote(path), wantToken)
	}
}

// oneOf checks a value that may be absent.
func (k *checker) oneOf(path, value string, known ...string) {
	if value != "" && !slices.Contains(known, value) {
		k.fault(path, "%s %s: %s", k.key(path), k.quote(path), choices(value, known))
	}
}

// choices names what is right, and of these what was meant.
func choices(value string, known []string) string {
	text := "want " + alternatives(known)
	if near := nearest(value, known); near != "" {
		text += fmt.Sprintf("; did you mean %q?", near)
	}
	return text
}

// required reports an absent value.
func (k *checker) required(path, value, key, what string) bool {
	if value == "" {
		k.fault(path, "%s", what+" has no "+key+"; add "+key+":")
	}
	return value != ""
}

func (k *checker) checkHTTP() {
	listen := k.c.HTTP.Listen
	if listen == "" {
		return
	}
	if !validAddress(listen) {
		k.fault("http.listen", "listen %s: want host:port, such as %s", k.quote("http.listen"), DefaultListen)
		return
	}
	if !loopback(listen) && k.c.HTTP.Token == "" && !k.failed["http.token"] {
		k.fault("http.listen", "listen %s is open to other machines; add token:, or listen on %s", k.quote("http.listen"), DefaultListen)
	}
}

func (k *checker) checkPlugins() {
	for _, channel := range sorted(k.c.Plugins) {
		path := "plugins." + channel
		if !token.MatchString(channel) {
			k.faultKey(path, "channel %q: %s", channel, wantToken)
		}
		for _, instance := range sorted(k.c.Plugins[channel]) {
			_, settings := k.c.Plugins[channel][instance].(map[string]any)
			if settings && !token.MatchString(instance) {
				k.faultKey(join(path, instance), "instance %q: %s", instance, wantToken)
			}
		}
	}
}

func (k *checker) checkHooks() {
	count := make(map[string]int)
	for i, h := range k.c.Hooks {
		if count[h.On]++; count[h.On] == hooks.MaxPerName+1 {
			at := k.nodeAt(fmt.Sprintf("hooks[%d]", i)).at
			text := fmt.Sprintf("more than %d hooks on %s; the host leaves out this one and those after it", hooks.MaxPerName, h.On)
			k.c.HookFaults = append(k.c.HookFaults, Problem{at.file, at.line, at.column, text})
		}
		for key, fault := range h.Check() {
			path := fmt.Sprintf("hooks[%d].%s", i, key)
			if near := nearest(h.On, hooks.Points()); key == "on" && near != "" {
				fault += fmt.Sprintf("; did you mean %q?", near)
			}
			if k.set(path) {
				k.fault(path, "%s %s: %s", key, k.quote(path), fault)
			} else {
				k.fault(path, "the hook has no %s; %s", key, fault)
			}
		}
		if h.Subject != "" && (bus.StoredSubject(h.Subject) || bus.HostSubject(h.Subject)) { // the stream would answer
			path := fmt.Sprintf("hooks[%d].subject", i)
			k.fault(path, "subject %s: a stream keeps what is published there; want one of the responder's own, such as acme.moderate", k.quote(path))
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
