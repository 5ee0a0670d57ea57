package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What keeps no host from starting and has no effect, or a bad one, is said.
func TestWarnings(t *testing.T) {
	const two = "models: {m: {provider: echo, hedge: 2s}, spare: {provider: echo}}\n"
	tests := map[string]struct {
		text string
		want []string // without the name of the file
	}{
		"hedge":                  {two + "agents: [{id: a, model: [m, spare]}]\n", nil},
		"hedge of a default":     {two + "defaults: {model: [m, spare]}\nagents: [{id: a}]\n", nil},
		"hedge without another":  {two + "agents: [{id: a, model: [spare, m]}]\n", []string{"1:37: warning: hedge has no effect, as no agent has another model behind m; add one, such as model: [m, spare], or take hedge out"}},
		"alert":                  {echoModel + "agents: [{id: a, limits: {budget: {peer_day: 1, alert: [0.5]}}}]\n", nil},
		"alert without a budget": {echoModel + "agents: [{id: a, limits: {budget: {run: 1, alert: [0.5]}}}]\n", []string{"2:51: warning: alert has no effect without a budget of a day, a month or a person; add day:, month: or peer_day:, or take alert out"}},
		"alert of a default":     {echoModel + "defaults: {limits: {budget: {alert: [0.5]}}}\nagents: [{id: a}, {id: b, limits: {budget: {day: 1}}}]\n", nil},
		"half a price": {"models: {m: {provider: openai, model: x, price: {input: 1}}, n: {provider: echo, price: {output: 0, input: 0}}}\nagents: [{id: a, model: m}]\n", []string{
			`1:49: warning: price has no output, so what it is for costs nothing, and no budget counts it; add output, in dollars for a million tokens`,
		}},
		"a server twice":            {"models: {m: {provider: openai, model: x, base_url: [\"http://a/\", \"http://b/\", \"http://a/\"]}}\nagents: [{id: a}]\n", []string{`1:79: warning: base_url "http://a/" stands there twice, so that server gets two shares of the calls; take one out`}},
		"another server's scale":    {"models: {m: {provider: anthropic, model: x, base_url: \"http://a/\", temperature: 1.5}}\nagents: [{id: a}]\n", nil},
		"short token, this machine": {agentA + "http: {token: t}\n", nil},
		"short tokens, open": {agentA + "http: {listen: '0.0.0.0:80', token: hunter2, tokens: [{name: b, token: 0123456789abcdef, role: read}, {name: c, token: abc, role: read}]}\n", []string{
			`4:37: warning: a token of 7 characters can be guessed, and "0.0.0.0:80" is open to other machines; want 16 or more, such as openssl rand -hex 16 makes`,
			`4:120: warning: a token of 3 characters can be guessed, and "0.0.0.0:80" is open to other machines; want 16 or more, such as openssl rand -hex 16 makes`,
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, w := range parse(t, tt.text).Warnings {
				got = append(got, strings.TrimPrefix(w.Warning(), "agenthost.yaml:"))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}
