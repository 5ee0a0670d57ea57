package config_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agenthost/agents"
	"agenthost/config"
)

func TestSenders(t *testing.T) {
	cfg, err := config.Parse("agenthost.yaml", []byte(agentA+
		"    channels: [{channel: c, senders: {allow: [\"42\"], deny: [\"7\"], pairing: true}, rate: {messages: 20, per: 1m, over: refuse}}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	b := cfg.Agents[0].Channels[0]
	if diff := cmp.Diff(agents.Senders{Allow: []string{"42"}, Deny: []string{"7"}, Pairing: true}, b.Senders); diff != "" {
		t.Errorf("senders (-want +got):\n%s", diff)
	}
	if want := (agents.Rate{Messages: 20, Per: time.Minute, Over: agents.RateRefuse}); b.Rate != want {
		t.Errorf("rate %+v, want %+v", b.Rate, want)
	}
}

func TestFaultsOfSenders(t *testing.T) {
	tests := map[string]struct{ binding, want string }{
		"nobody":              {"senders: {allow: []}", "allow is empty, so every sender is refused"},
		"twice":               {`senders: {allow: ["42", "42"]}`, `"42" is there twice`},
		"allowed and denied":  {`senders: {allow: ["42"], deny: ["42"]}`, "is in deny as well"},
		"empty name":          {`senders: {deny: [""]}`, "an empty name"},
		"unknown key":         {"senders: {allowed: [a]}", `unknown key "allowed"; did you mean "allow"?`},
		"rate without span":   {"rate: {messages: 20}", "rate without per"},
		"rate without number": {"rate: {per: 1m}", "rate without messages"},
		"negative rate":       {"rate: {messages: -1, per: 1m}", "rate without messages"},
		"over what":           {"rate: {messages: 1, per: 1m, over: drop}", "wait or refuse"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := config.Parse("agenthost.yaml", []byte(agentA+"    channels: [{channel: c, "+tt.binding+"}]\n"))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
			if unwrapped := errors.Unwrap(err); unwrapped == nil && err != nil && strings.Count(err.Error(), "\n") > 3 {
				t.Errorf("more than one problem:\n%v", err)
			}
		})
	}
}
