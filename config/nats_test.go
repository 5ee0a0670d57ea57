package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agenthost/config"
)

func TestLoadNATS(t *testing.T) {
	t.Setenv("FLEET_URL", "nats://fleet:4222")
	tests := map[string]struct {
		files map[string]string
		url   string
		fails string // how the error ends
	}{
		"wrong elsewhere": {files: map[string]string{"agenthost.yaml": "nats: {url: 'nats://a:1'}\nagents: [{id: 7, modl: x}]\nnonsense: 1\n"}, url: "nats://a:1"},
		"not set elsewhere": {
			files: map[string]string{"agenthost.yaml": "nats: {url: '${FLEET_URL}'}\nhttp: {token: '${NO_SUCH_TOKEN}'}\n"}, url: "nats://fleet:4222",
		},
		"says nothing":    {files: map[string]string{"agenthost.yaml": "agents: [{id: ana}]\n"}},
		"an agent broken": {files: map[string]string{"agenthost.yaml": "nats: {url: 'nats://a:1'}\n", "agents/a.md": "---\n[\n---\n"}, url: "nats://a:1"},
		"not set":         {files: map[string]string{"agenthost.yaml": "nats: {url: '${NO_SUCH_URL}'}\n"}, fails: "agenthost.yaml:1:13: variable NO_SUCH_URL is not set; set it, or give a default with ${NO_SUCH_URL:-default}"},
		"wrong":           {files: map[string]string{"agenthost.yaml": "nats: {url: 'x y'}\n"}, fails: "agenthost.yaml:1:13: url: want nats://host:port, or several with commas between them"},
		"no place for it": {files: map[string]string{"agenthost.yaml": "nats: here\nagents: 5\n"}, fails: "agenthost.yaml:1:7: nats: want keys and values, got a single value"},
		"not YAML":        {files: map[string]string{"agenthost.yaml": "nats: {url: 'nats://a:1'}\n", "agents.d/a.yaml": "[\n"}, fails: "a.yaml:2:1: not YAML: a value is missing here, or a bracket is not closed, or is one too many"},
		"not there":       {fails: "no configuration in this folder; want agenthost.yaml, agents/*.md or agents.d/*.yaml"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range tt.files {
				file := filepath.Join(dir, name)
				if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got, err := config.LoadNATS(dir)
			if tt.fails == "" && (err != nil || got.URL != tt.url) {
				t.Errorf("%q, %v; want %q", got.URL, err, tt.url)
			}
			if tt.fails != "" && (err == nil || !strings.HasSuffix(err.Error(), tt.fails)) {
				t.Errorf("error %v; want the end %q", err, tt.fails)
			}
		})
	}
}
