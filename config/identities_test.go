package config_test

import (
	"slices"
	"strings"
	"testing"

	"agenthost/config"
	"agenthost/internal/identity"

	"github.com/google/go-cmp/cmp"
)

const bound = `agents: [{id: a, channels: [web, email, {channel: telegram, instance: "*"}]}]
models: {m: {provider: echo}}
`

func TestIdentities(t *testing.T) {
	c := parse(t, bound+`identities:
  ana: [telegram.sales/42, email/ana@shop.test]
  bo: {accounts: [web/bo, email/bo], shared: true}
`)
	want := map[string]identity.Config{
		"ana": {Accounts: []string{"telegram.sales/42", "email/ana@shop.test"}},
		"bo":  {Accounts: []string{"web/bo", "email/bo"}, Shared: true},
	}
	if diff := cmp.Diff(want, c.Identities); diff != "" {
		t.Errorf("identities (-want +got):\n%s", diff)
	}
	if len(c.Warnings) > 0 {
		t.Errorf("warned of %v", c.Warnings)
	}
}

func TestIdentityFaults(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		want []string // without the name of the file
	}{
		"no account":  {"identities: {ana: [telegram, web/a]}\n", []string{`3:20: account "telegram": want <channel>[.<instance>]/<from>, such as telegram.sales/42`}},
		"one account": {"identities: {ana: [web/a]}\n", []string{`3:14: identity ana joins accounts, so it wants two or more, such as ana: [telegram.sales/42, email/ana@shop.test]`}},
		"none":        {"identities: {ana: {shared: true}}\n", []string{`3:14: identity ana joins accounts, so it wants two or more, such as ana: [telegram.sales/42, email/ana@shop.test]`}},
		"twice":       {"identities: {ana: [web/a, email/a, web/a]}\n", []string{`3:36: account web/a is there twice; keep one`}},
		"of another":  {"identities: {ana: [web/a, email/a], bo: {accounts: [email/b, web/a]}}\n", []string{`3:62: account web/a is ana's already; an account is of one person`}},
		"unknown key": {"identities: {ana: {acounts: [web/a, email/a]}}\n", []string{
			`3:14: identity ana joins accounts, so it wants two or more, such as ana: [telegram.sales/42, email/ana@shop.test]`,
			`3:20: unknown key "acounts"; did you mean "accounts"?`,
		}},
		"a word":   {"identities: {ana: web/a}\n", []string{`3:19: ana: want keys and values, got a single value`}},
		"a number": {"identities: {ana: [web/a, [web/b]]}\n", []string{`3:27: ana: want text, got a list`}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := config.Parse("a.yaml", []byte(bound+tt.text))
			got := problems(t, err)
			for i := range got {
				got[i] = strings.TrimPrefix(got[i], "a.yaml:")
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

func TestIdentityOfAnUnboundChannel(t *testing.T) {
	c := parse(t, bound+"identities: {ana: [web/a, irc.home/a, telegram/4]}\n")
	var got []string
	for _, p := range c.Warnings {
		got = append(got, strings.TrimPrefix(p.String(), "agenthost.yaml:"))
	}
	want := []string{
		"3:27: no agent is bound to irc.home, so no message comes from account irc.home/a; bind one, or take the account out",
		"3:39: no agent is bound to telegram, so no message comes from account telegram/4; bind one, or take the account out",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestApproverWhoIsDenied(t *testing.T) {
	const bound = "models: {m: {provider: echo}}\nagents: [{id: ana, model: m, approvers: [boss/b], channels: [{channel: boss, senders: "
	for senders, want := range map[string][]string{
		"{deny: [b]}":  {`2:42: senders.deny of boss has approver "boss/b", who is not asked there and cannot answer; take them out of one of the two`},
		"{allow: [c]}": nil,
	} {
		var got []string
		for _, p := range parse(t, bound+senders+"}]}]\n").Warnings {
			got = append(got, strings.TrimPrefix(p.String(), "agenthost.yaml:"))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got  %q\nwant %q", senders, got, want)
		}
	}
}

func TestApproverOfAnUnboundChannel(t *testing.T) {
	c := parse(t, "models: {m: {provider: echo}}\nagents: [{id: ana, model: m, channels: [web], approvers: [web/a, boss/b]}]\n")
	var got []string
	for _, p := range c.Warnings {
		got = append(got, strings.TrimPrefix(p.String(), "agenthost.yaml:"))
	}
	if want := []string{`2:66: no agent is bound to boss, so approver "boss/b" cannot answer there; bind one`}; !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
