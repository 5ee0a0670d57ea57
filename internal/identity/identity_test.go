package identity_test

import (
	"slices"
	"testing"

	"agenthost/internal/identity"
	"agenthost/session"
)

func TestTable(t *testing.T) {
	t.Parallel()
	var known identity.Table
	known.Set(map[string]identity.Config{
		"ana": {Accounts: []string{"telegram.sales/42", "email/ana@shop.test"}},
		"bo":  {Accounts: []string{"irc/b/o", "web/bo"}, Shared: true},
	})
	for key, want := range map[session.Key]struct {
		session session.Key
		chats   []string
	}{
		"telegram.sales/dm/42":        {"telegram.sales/dm/42", []string{"telegram.sales/dm/42", "email/dm/ana@shop.test"}},
		"email/dm/ana@shop.test":      {"email/dm/ana@shop.test", []string{"telegram.sales/dm/42", "email/dm/ana@shop.test"}},
		"telegram/dm/42":              {"telegram/dm/42", []string{"telegram/dm/42"}},
		"web/dm/bo":                   {"irc/dm/b%2Fo", []string{"irc/dm/b%2Fo", "web/dm/bo"}},
		"irc/dm/b%2Fo":                {"irc/dm/b%2Fo", []string{"irc/dm/b%2Fo", "web/dm/bo"}},
		"web/dm/bo/other":             {"web/dm/bo/other", []string{"web/dm/bo/other"}}, // a conversation of its own
		"telegram.sales/group/42":     {"telegram.sales/group/42", []string{"telegram.sales/group/42"}},
		"route/dm/telegram.sales%2F4": {"route/dm/telegram.sales%2F4", []string{"route/dm/telegram.sales%2F4"}},
	} {
		if got := known.Session(key); got != want.session {
			t.Errorf("session of %s: got %s, want %s", key, got, want.session)
		}
		if got := known.Chats(string(key)); !slices.Equal(got, want.chats) {
			t.Errorf("chats of %s: got %q, want %q", key, got, want.chats)
		}
	}
	known.Set(nil)
	if got := known.Session("web/dm/bo"); got != "web/dm/bo" {
		t.Errorf("after it was taken out: %s", got)
	}
}

func TestTableOfNobody(t *testing.T) {
	t.Parallel()
	var none *identity.Table
	for _, table := range []*identity.Table{none, {}} {
		if got := table.Session("web/dm/bo"); got != "web/dm/bo" {
			t.Errorf("got %s", got)
		}
		if got := table.Chats("web/dm/bo"); !slices.Equal(got, []string{"web/dm/bo"}) {
			t.Errorf("got %q", got)
		}
	}
}

func TestAccountsThatAreNone(t *testing.T) {
	t.Parallel()
	for _, account := range []string{"", "telegram", "telegram/", "/42", "Telegram/42", "telegram./42", "tele gram/42", "a.b.c/42"} {
		if key, err := identity.Direct(account); err == nil {
			t.Errorf("%q is taken as %s", account, key)
		}
	}
}
