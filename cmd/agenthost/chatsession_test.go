package main

import (
	"strings"
	"testing"

	"agenthost/internal/control"
)

func TestSessionNamed(t *testing.T) {
	for text, want := range map[string]string{
		"apples":               "route/cli/apples",
		"route/cli/apples":     "route/cli/apples",
		"route/chat-bob/x":     "route/chat-bob/x",
		"route/a%2Fb/c%25d":    "route/a%2Fb/c%25d",
		"apples and/or pears!": "route/cli/apples and%2For pears!",
	} {
		from, id, err := sessionNamed(text, "cli")
		if got := control.RouteKey(from, id); err != nil || got != want {
			t.Errorf("%q: got %s, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"route/cli", "route//x", "route/cli/", "route/cli/a/b", "route/%zz/x", "web/dm/7", "web.sales/group/-100"} {
		if from, id, err := sessionNamed(text, "cli"); err == nil || !isUsage(err) || !strings.Contains(err.Error(), "want a name, or a key such as route/cli/apples") {
			t.Errorf("%q: got %q, %q, %v", text, from, id, err)
		}
	}
}
