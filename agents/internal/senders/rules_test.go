package senders_test

import (
	"testing"

	"agenthost/agents/internal/senders"
)

func TestJudge(t *testing.T) {
	allow := []string{"42", "43"}
	tests := map[string]struct {
		rules  senders.Rules
		from   string
		paired bool
		want   senders.Verdict
	}{
		"no rules":               {senders.Rules{}, "42", false, senders.Welcome},
		"on the list":            {senders.Rules{Allow: allow}, "43", false, senders.Welcome},
		"not on the list":        {senders.Rules{Allow: allow}, "4", false, senders.Stranger},
		"a part of a name":       {senders.Rules{Allow: allow}, "421", false, senders.Stranger},
		"nobody":                 {senders.Rules{Allow: allow}, "", false, senders.Stranger},
		"another case":           {senders.Rules{Allow: []string{"Ana"}}, "ana", false, senders.Stranger},
		"an empty list":          {senders.Rules{Allow: []string{}}, "42", false, senders.Stranger},
		"denied":                 {senders.Rules{Deny: allow}, "42", false, senders.Denied},
		"not denied":             {senders.Rules{Deny: allow}, "44", false, senders.Welcome},
		"denied and allowed":     {senders.Rules{Allow: allow, Deny: allow}, "42", false, senders.Denied},
		"denied and paired":      {senders.Rules{Pairing: true, Deny: allow}, "42", true, senders.Denied},
		"paired":                 {senders.Rules{Pairing: true}, "44", true, senders.Welcome},
		"not paired":             {senders.Rules{Pairing: true}, "44", false, senders.Stranger},
		"paired, other list":     {senders.Rules{Allow: allow, Pairing: true}, "44", true, senders.Welcome},
		"on the list, no need":   {senders.Rules{Allow: allow, Pairing: true}, "42", false, senders.Welcome},
		"paired once, not asked": {senders.Rules{Allow: allow}, "44", true, senders.Stranger},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tt.rules.Judge(tt.from, func() bool { return tt.paired }); got != tt.want {
				t.Errorf("Judge(%q) = %v, want %v", tt.from, got, tt.want)
			}
		})
	}
}
