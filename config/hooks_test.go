package config_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"agenthost/config"
)

// A hook that is narrowed to what nothing has would never be asked.
func TestHookScopes(t *testing.T) {
	const agents = "models: {m: {provider: echo}}\n" +
		"agents: [{id: ana, channels: [web, {channel: telegram, instance: sales}]}, {id: bob, channels: [{channel: mail, instance: '*'}]}]\n"
	tests := map[string]struct {
		scope string
		want  []string
	}{
		"all known":            {"agents: [ana, bob], channels: [web, telegram, telegram.sales, mail, mail.info]", nil},
		"an agent":             {"agents: [anna]", []string{`agenthost.yaml:2:53: there is no agent "anna"; did you mean "ana"?`}},
		"a channel":            {"channels: [wep]", []string{`agenthost.yaml:2:55: no agent is bound to the channel "wep"; did you mean "web"?`}},
		"an instance":          {"channels: [telegram.sale]", []string{`agenthost.yaml:2:55: no agent is bound to the channel "telegram.sale"; did you mean "telegram.sales"?`}},
		"no instance at all":   {"channels: [web.x]", []string{`agenthost.yaml:2:55: no agent is bound to the channel "web.x"; did you mean "web"?`}},
		"one that cannot be":   {"channels: ['mail.*']", []string{`agenthost.yaml:2:55: no agent is bound to the channel "mail.*"; did you mean "mail"?`}},
		"an entry that is bad": {"agents: [ana, '']", []string{`agenthost.yaml:2:58: there is no agent ""; want ana or bob`}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			text := agents + "hooks: [{on: before_message, subject: a.b, " + tt.scope + "}]\n"
			_, err := config.Parse("agenthost.yaml", []byte(text))
			if diff := cmp.Diff(tt.want, shifted(err)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

// Only at a before_ point, and of the result of a tool, is there anything to stop: elsewhere fail: closed would have no
// effect, without a word.
func TestHookThatCannotFailClosed(t *testing.T) {
	t.Parallel()
	const agents = "models: {m: {provider: echo}}\nagents: [{id: ana, channels: [web]}]\n"
	for on, want := range map[string]string{
		"before_message": "", "before_model_call": "", "before_tool_call": "", "after_tool_call": "",
		"after_message":    `agenthost.yaml:3:56: fail closed has no effect at after_message, where nothing can be stopped any more; take it out, or use a before_ point or after_tool_call`,
		"after_model_call": `agenthost.yaml:3:59: fail closed has no effect at after_model_call, where nothing can be stopped any more; take it out, or use a before_ point or after_tool_call`,
		"on_error":         `agenthost.yaml:3:51: fail closed has no effect at on_error, where nothing can be stopped any more; take it out, or use a before_ point or after_tool_call`,
	} {
		c, err := config.Parse("agenthost.yaml", []byte(agents+"hooks: [{on: "+on+", subject: acme.audit, fail: closed}]\n"))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, w := range c.Warnings {
			got += w.String()
		}
		if got != want {
			t.Errorf("%s: warned of %q, want %q", on, got, want)
		}
	}
}
