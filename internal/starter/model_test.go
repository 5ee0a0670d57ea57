package starter

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"agenthost/config"
	"agenthost/llm"

	"github.com/google/go-cmp/cmp"
)

func TestFindModel(t *testing.T) {
	tests := map[string]struct {
		key, tags string
		status    int
		want      Model
	}{
		"a key":          {"sk-1", `{"models":[{"name":"llama3.2:3b"}]}`, 200, Model{Provider: "openai", Name: "gpt-5-mini", APIKey: "${OPENAI_API_KEY}", Why: "OPENAI_API_KEY"}},
		"ollama":         {"", `{"models":[{"name":"llama3.2:3b"},{"name":"b"}]}`, 200, Model{Provider: "openai", Name: "llama3.2:3b", BaseURL: "URL/v1", Why: "Ollama at URL"}},
		"empty ollama":   {"", `{"models":[]}`, 200, Model{Provider: "echo"}},
		"something else": {"", `<html>`, 404, Model{Provider: "echo"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/api/tags" {
					t.Errorf("asked for %s", r.URL)
				}
				w.WriteHeader(tt.status)
				_, _ = w.Write([]byte(tt.tags))
			}))
			defer srv.Close()
			env := map[string]string{"OPENAI_API_KEY": tt.key, "OLLAMA_HOST": srv.URL}
			got := FindModel(t.Context(), func(name string) string { return env[name] })
			tt.want.BaseURL = strings.ReplaceAll(tt.want.BaseURL, "URL", srv.URL)
			tt.want.Why = strings.ReplaceAll(tt.want.Why, " URL", " "+srv.URL)
			if got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
			t.Setenv("OPENAI_API_KEY", tt.key)
			cfg, err := config.Parse("agenthost.yaml", []byte(Choice{Model: got}.Config("agenthost.schema.json", Literal)))
			if err != nil {
				t.Fatalf("what init writes does not pass check: %v", err)
			}
			want := llm.Config{Provider: got.Provider, Model: got.Name, APIKey: tt.key, BaseURL: got.BaseURL}
			if diff := cmp.Diff(want, cfg.Models["main"]); diff != "" {
				t.Errorf("the model of the file: -want +got:\n%s", diff)
			}
		})
	}
}

func TestOllamaURL(t *testing.T) {
	for host, want := range map[string]string{
		"":                       "http://127.0.0.1:11434",
		" ":                      "http://127.0.0.1:11434",
		"0.0.0.0":                "http://127.0.0.1:11434",
		"0.0.0.0:9000":           "http://127.0.0.1:9000",
		"[::]:9000":              "http://127.0.0.1:9000",
		"[::1]:9000":             "http://[::1]:9000",
		":9000":                  "http://127.0.0.1:9000",
		"gpu":                    "http://gpu:11434",
		"http://gpu:9000/":       "http://gpu:9000",
		"https://gpu.example/a/": "https://gpu.example:443/a",
		"http://[":               "http://127.0.0.1:11434",
	} {
		if got := ollamaURL(host); got != want {
			t.Errorf("%q: got %s, want %s", host, got, want)
		}
	}
}
