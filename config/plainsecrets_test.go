package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agenthost/config"

	"github.com/google/go-cmp/cmp"
)

func TestPlainSecrets(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agenthost.yaml")
	text := `models:
  main: {provider: openai, model: m, api_key: sk-0123456789abcdef}
  other: {provider: openai, model: m, api_key: "${OTHER_KEY:-x}"}
  house: {provider: openai, model: m, api_key: none, max_tokens: 12345678}
http: {token: "0123456789"}
agents: [{id: ana, model: main, output_schema: {properties: {token: {type: string}}, secret: "not one at all"}}]
mcp:
  wiki: {command: [wiki], env: {WIKI_TOKEN: 0123456789, WIKI_HOME: /home/of/wiki}}
  net: {url: "https://example.org", headers: {Authorization: "Bearer 0123456789"}}
plugins: {telegram: {sales: {token: "1:0123456789"}}}
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range config.PlainSecrets(path) {
		key, rest, _ := strings.Cut(p.Text, " ")
		if !strings.HasPrefix(rest, "stands here as plain text; want") || strings.Contains(p.Text, "0123") {
			t.Errorf("got %q", p.Text)
		}
		got = append(got, key)
	}
	if diff := cmp.Diff([]string{"api_key", "token", "WIKI_TOKEN", "Authorization", "token"}, got); diff != "" {
		t.Error(diff)
	}
	if got := config.PlainSecrets(path + ".not"); got != nil {
		t.Errorf("of no file: %v", got)
	}
}
