package config_test

import (
	"strings"
	"testing"

	"agenthost/config"
)

// Approvers are people of a channel: an entry of another form could never answer.
func TestApprovers(t *testing.T) {
	const bad = "want <channel>[.<instance>]/<from>"
	for text, want := range map[string]string{
		"approvers: [web/42]":                           "",
		"approvers: [web.sales/a/b], notify: approvers": "",
		"approvers: [web]":                              bad,
		"approvers: [web/]":                             bad,
		"approvers: [/42]":                              bad,
		"approvers: ['w b/42']":                         bad,
		"approvers: [web./42]":                          bad,
		"approvers: ['web.s s/42']":                     bad,
		"approvers: [web/42], notify: operators":        "want approvers",
		"notify: approvers":                             "the agent has no approvers",
	} {
		_, err := config.Parse("a.yaml", []byte("models: {m: {provider: echo}}\nagents: [{id: ana, model: m, channels: [web, {channel: web, instance: sales}], "+text+"}]\n"))
		if got := strings.Join(problems(t, err), "\n"); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

// A listener that other machines reach needs a token, of whichever kind.
func TestListenForOtherMachines(t *testing.T) {
	const long = "0123456789abcdef"
	for http, want := range map[string]string{
		"{listen: '127.0.0.1:8080'}":                    "",
		"{listen: 'localhost:8080'}":                    "",
		"{listen: '[::1]:8080'}":                        "",
		"{listen: '0.0.0.0:8080'}":                      "is open to other machines; add token:",
		"{listen: ':8080'}":                             "is open to other machines; add token:",
		"{listen: '192.0.2.1:8080', token: ''}":         "is open to other machines; add token:",
		"{listen: '0.0.0.0:8080', token: " + long + "}": "",
		"{listen: '0.0.0.0:8080', tokens: [{name: a, role: read, token: " + long + "}]}":        "",
		"{listen: '0.0.0.0:8080', tokens: [{name: operator, role: read, token: " + long + "}]}": "reserved for http.token",
		"{listen: 'here'}": "want host:port",
	} {
		_, err := config.Parse("a.yaml", []byte("models: {m: {provider: echo}}\nagents: [{id: ana, model: m}]\nhttp: "+http+"\n"))
		if got := strings.Join(problems(t, err), "\n"); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", http, got, want)
		}
	}
}
