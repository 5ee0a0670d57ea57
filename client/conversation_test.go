package client

import (
	"errors"
	"strings"
	"testing"
)

func isNameError(err error) bool {
	_, ok := errors.AsType[*NameError](err)
	return ok
}

func TestParseParty(t *testing.T) {
	for text, want := range map[string]string{
		"apples":               "route/cli/apples",
		"route/cli/apples":     "route/cli/apples",
		"route/chat-bob/x":     "route/chat-bob/x",
		"route/a%2Fb/c%25d":    "route/a%2Fb/c%25d",
		"apples and/or pears!": "route/cli/apples and%2For pears!",
	} {
		p, err := ParseParty(text, "cli")
		if got := RouteKey(p.From, p.Session); err != nil || got != want {
			t.Errorf("%q: got %s, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"route/cli", "route//x", "route/cli/", "route/cli/a/b", "route/%zz/x", "web/dm/7", "web.sales/group/-100"} {
		if p, err := ParseParty(text, "cli"); !isNameError(err) || !strings.Contains(err.Error(), "want a name, or a key such as route/cli/apples") {
			t.Errorf("%q: got %v, %v", text, p, err)
		}
	}
}
