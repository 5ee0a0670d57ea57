package main

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

// A foundModel is a model that this machine can use as it is, in the words of
// a configuration. With an empty why there is none, and it is the one that
// echoes.
type foundModel struct {
	provider, model, apiKey, baseURL string
	why                              string // what was found
}

const (
	ollamaDefault = "127.0.0.1:11434"
	ollamaWithin  = 300 * time.Millisecond
	// ollamaMost bounds what is read of the list of models.
	ollamaMost = 1 << 20
)

// findModel looks for a key of OpenAI, then for an Ollama.
func findModel(ctx context.Context, getenv func(string) string) foundModel {
	if getenv("OPENAI_API_KEY") != "" {
		return foundModel{provider: "openai", model: "gpt-5-mini", apiKey: "${OPENAI_API_KEY}", why: "OPENAI_API_KEY"}
	}
	base := ollamaURL(getenv("OLLAMA_HOST"))
	if name := firstOllama(ctx, base); name != "" {
		return foundModel{provider: "openai", model: name, baseURL: base + "/v1", why: "Ollama at " + base}
	}
	return foundModel{provider: "echo"}
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
