// Package starter writes the configuration that a new user starts from, with the
// model that their machine can use.
package starter

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// A Model is a model that this machine can use as it is, in the words of
// a configuration. With an empty Why there is none, and it is the one that
// echoes.
type Model struct {
	Provider, Name, APIKey, BaseURL string
	Why                             string // what was found
	Given                           bool   // somebody has named it
}

// keys are the variables that have the keys of providers.
var keys = map[string]string{"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY", "gemini": "GEMINI_API_KEY"}

// NewModel reads <provider>/<model>, where ollama stands for the one of this machine. It
// takes the key of the provider from the environment, if it is there.
func NewModel(name string, getenv func(string) string) Model {
	provider, model, _ := strings.Cut(name, "/")
	if provider == "ollama" {
		return Model{Provider: "openai", Name: model, BaseURL: ollamaURL(getenv("OLLAMA_HOST")) + "/v1", Given: true}
	}
	m := Model{Provider: provider, Name: model, Given: true}
	if variable := keys[provider]; variable != "" && getenv(variable) != "" {
		m.APIKey = "${" + variable + "}"
	}
	return m
}

// Needs reports whether the model has no key and its provider wants one.
func (m Model) Needs() bool { return m.APIKey == "" && m.BaseURL == "" && keys[m.Provider] != "" }

// Set sets one key of the model, and reports whether it has that.
func (m *Model) Set(key, value string) bool {
	switch key {
	case "api_key":
		m.APIKey = value
	case "base_url":
		m.BaseURL = value
	default:
		return false
	}
	return true
}

const (
	ollamaDefault = "127.0.0.1:11434"
	ollamaWithin  = 300 * time.Millisecond
	// ollamaMost bounds what is read of the list of models.
	ollamaMost = 1 << 20
)

// FindModel looks for a key of OpenAI, then for an Ollama.
func FindModel(ctx context.Context, getenv func(string) string) Model {
	if getenv("OPENAI_API_KEY") != "" {
		return Model{Provider: "openai", Name: "gpt-5-mini", APIKey: "${OPENAI_API_KEY}", Why: "OPENAI_API_KEY"}
	}
	base := ollamaURL(getenv("OLLAMA_HOST"))
	if name := firstOllama(ctx, base); name != "" {
		return Model{Provider: "openai", Name: name, BaseURL: base + "/v1", Why: "Ollama at " + base}
	}
	return Model{Provider: "echo"}
}

// ollamaURL is where OLLAMA_HOST, which may lack scheme and port and may be
// what a server listens on, says that Ollama is.
func ollamaURL(host string) string {
	host = cmp.Or(strings.TrimSpace(host), ollamaDefault)
	if !strings.Contains(host, "://") {
		host = "http://" + host
	}
	u, err := url.Parse(host)
	if err != nil || u.Host == "" {
		return "http://" + ollamaDefault
	}
	name, port := u.Hostname(), u.Port()
	if port == "" {
		port = map[string]string{"http": "11434", "https": "443"}[u.Scheme]
	}
	if name == "" || name == "0.0.0.0" || name == "::" {
		name = "127.0.0.1"
	}
	if strings.Contains(name, ":") {
		name = "[" + name + "]"
	}
	return u.Scheme + "://" + name + ":" + port + strings.TrimRight(u.Path, "/")
}

// firstOllama is the first model of the Ollama at base, empty when there is
// none.
func firstOllama(ctx context.Context, base string) string {
	ctx, cancel := context.WithTimeout(ctx, ollamaWithin)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/api/tags", nil)
	if err != nil {
		return ""
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return ""
	}
	defer res.Body.Close()
	var tags struct {
		Models []struct{ Name string }
	}
	err = json.NewDecoder(io.LimitReader(res.Body, ollamaMost)).Decode(&tags)
	if err != nil || len(tags.Models) == 0 {
		return ""
	}
	return tags.Models[0].Name
}
