package config_test

import (
	"testing"
	"time"

	"agenthost/config"
	"agenthost/llm"

	"github.com/google/go-cmp/cmp"
)

// base_url is one address, or a list of servers of one model.
func TestBaseURLs(t *testing.T) {
	tests := map[string]struct {
		yaml string
		want llm.Config
	}{
		"one":           {`"http://a"`, llm.Config{BaseURL: "http://a"}},
		"a list of one": {`["http://a"]`, llm.Config{BaseURL: "http://a"}},
		"a list":        {`["http://a", "http://b/v1"]`, llm.Config{BaseURL: "http://a", BaseURLs: []string{"http://a", "http://b/v1"}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			model := "{provider: openai, model: x, hedge: 8s, timeouts: {connect: 2s, call: 1m}, base_url: " + tt.yaml + "}"
			cfg, err := config.Parse("agenthost.yaml", []byte("models: {m: "+model+"}\nagents: [{id: ana}]\n"))
			if err != nil {
				t.Fatal(err)
			}
			tt.want.Provider, tt.want.Model, tt.want.Hedge = "openai", "x", 8*time.Second
			tt.want.Timeouts = llm.Timeouts{Connect: 2 * time.Second, Call: time.Minute}
			if diff := cmp.Diff(tt.want, cfg.Models["m"]); diff != "" {
				t.Error(diff)
			}
		})
	}
}
