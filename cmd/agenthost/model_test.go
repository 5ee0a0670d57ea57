package main

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
		want      foundModel
	}{
		"a key":          {"sk-1", `{"models":[{"name":"llama3.2:3b"}]}`, 200, foundModel{provider: "openai", model: "gpt-5-mini", apiKey: "${OPENAI_API_KEY}", why: "OPENAI_API_KEY"}},
		"ollama":         {"", `{"models":[{"name":"llama3.2:3b"},{"name":"b"}]}`, 200, foundModel{provider: "openai", model: "llama3.2:3b", baseURL: "URL/v1", why: "Ollama at URL"}},
		"empty ollama":   {"", `{"models":[]}`, 200, foundModel{provider: "echo"}},
		"something else": {"", `<html>`, 404, foundModel{provider: "echo"}},
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
			got := findModel(t.Context(), func(name string) string { return env[name] })
			tt.want.baseURL = strings.ReplaceAll(tt.want.baseURL, "URL", srv.URL)
			tt.want.why = strings.ReplaceAll(tt.want.why, " URL", " "+srv.URL)
			if got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
			t.Setenv("OPENAI_API_KEY", tt.key)
			cfg, err := config.Parse("agenthost.yaml", []byte(starter(got)))
			if err != nil {
				t.Fatalf("what init writes does not pass check: %v", err)
			}
			want := llm.Config{Provider: got.provider, Model: got.model, APIKey: tt.key, BaseURL: got.baseURL}
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
