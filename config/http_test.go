package config_test

import (
	"fmt"
	"strings"
	"testing"

	"agenthost/config"
)

func TestTokens(t *testing.T) {
	const agent = "models: {m: {provider: echo}}\nagents: [{id: ana}]\n"
	tests := map[string]struct{ tokens, want string }{
		"good":             {"[{name: a, token: one, role: admin}, {name: b, token: two, role: chat, agents: [ana]}]", ""},
		"no name":          {"[{token: one, role: read}]", "the token has no name"},
		"a bad name":       {"[{name: A b, token: one, role: read}]", "want 1 to 63 of"},
		"name twice":       {"[{name: a, token: one, role: read}, {name: a, token: two, role: read}]", "stands there twice"},
		"the one's name":   {"[{name: operator, token: one, role: read}]", "want another"},
		"no token":         {"[{name: a, role: read}]", `the token "a" has no token`},
		"an empty token":   {"[{name: a, token: '', role: read}]", `the token "a" has no token`},
		"token twice":      {"[{name: a, token: one, role: read}, {name: b, token: one, role: read}]", "the same as another"},
		"as the one token": {"[{name: a, token: main, role: read}]", "the same as another"},
		"no role":          {"[{name: a, token: one}]", "has no role"},
		"a wrong role":     {"[{name: a, token: one, role: chatt}]", `did you mean "chat"?`},
		"an unknown agent": {"[{name: a, token: one, role: chat, agents: [anna]}]", `did you mean "ana"?`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := config.Parse("a.yaml", []byte(agent+"http: {token: main, tokens: "+tt.tokens+"}\n"))
			switch {
			case tt.want == "" && err != nil:
				t.Error(err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("got %v, want %q in it", err, tt.want)
			}
		})
	}
}

func TestTokensAreNotShown(t *testing.T) {
	c, err := config.Parse("a.yaml", []byte("models: {m: {provider: echo}}\nagents: [{id: ana}]\nhttp: {listen: '0.0.0.0:1', tokens: [{name: a, token: hushhush, role: read}]}\n"))
	if err != nil {
		t.Fatal(err)
	}
	shown, err := config.Show(c)
	if err != nil || strings.Contains(string(shown), "hushhush") || !strings.Contains(string(shown), "name: a") {
		t.Errorf("got %s, %v", shown, err)
	}
	if masked, err := config.Masked(c); err != nil || strings.Contains(fmt.Sprint(masked), "hushhush") {
		t.Errorf("got %v, %v", masked, err)
	}
}

func TestEmbed(t *testing.T) {
	const rest = "models: {m: {provider: echo}}\nagents: [{id: ana, channels: [web]}]\n"
	for site, ok := range map[string]bool{
		"https://shop.test": true, "http://localhost:3000": true, "shop.test": false, "https://shop.test/": false, "https://shop.test/x": false, "https://a.test;b": false, "'*'": false, "ftp://x": false,
	} {
		_, err := config.Parse("a.yaml", []byte(rest+"plugins: {web: {embed: ["+site+"]}}\n"))
		if (err == nil) != ok {
			t.Errorf("%s: got %v", site, err)
		}
	}
}
