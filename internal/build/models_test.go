package build

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"agenthost/config"
	"agenthost/llm"
)

// A configured model that says nothing of timeouts has those of the docs, so that one
// that hangs is left; one within this process has only what is set.
func TestModelsHaveTimeouts(t *testing.T) {
	byDefault := llm.Timeouts{Connect: 10 * time.Second, First: time.Minute, Idle: time.Minute, Call: 10 * time.Minute}
	tests := map[string]struct {
		model string
		want  llm.Timeouts
	}{
		"openai":    {`{provider: openai, model: m, base_url: "http://127.0.0.1:1/v1"}`, byDefault},
		"anthropic": {`{provider: anthropic, model: m, api_key: k}`, byDefault},
		"gemini":    {`{provider: gemini, model: m, api_key: k}`, byDefault},
		"several servers": {
			`{provider: openai, model: m, base_url: ["http://127.0.0.1:1/v1", "http://127.0.0.1:2/v1"]}`, byDefault,
		},
		"one is set": {
			`{provider: openai, model: m, base_url: "http://127.0.0.1:1/v1", timeouts: {first: 5s}}`,
			llm.Timeouts{Connect: 10 * time.Second, First: 5 * time.Second, Idle: time.Minute, Call: 10 * time.Minute},
		},
		"echo":                 {`{provider: echo}`, llm.Timeouts{}},
		"scripted":             {`{provider: scripted, script: rules.yaml}`, llm.Timeouts{}},
		"scripted, one is set": {`{provider: scripted, script: rules.yaml, timeouts: {call: 1s}}`, llm.Timeouts{Call: time.Second}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "rules.yaml"), []byte("rules: [{text: hi}]"), 0o600); err != nil {
				t.Fatal(err)
			}
			cfg, err := config.Parse(filepath.Join(dir, "agenthost.yaml"), []byte("models: {main: "+tt.model+"}\nagents: [{id: ana}]\n"))
			if err != nil {
				t.Fatal(err)
			}
			chain, err := new(Builder).models(cfg.Models, nil).Chain([]string{"main"})
			if err != nil {
				t.Fatal(err)
			}
			if got := chain.Links[0].Timeouts; got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}
