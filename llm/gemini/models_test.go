package gemini_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"agenthost/llm"
	"agenthost/llm/gemini"

	"github.com/google/go-cmp/cmp"
)

func TestModels(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Goog-Api-Key") != "the key" {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}`)
			return
		}
		switch r.URL.String() {
		case "/v1beta/models?pageSize=1000":
			_, _ = io.WriteString(w, `{"models":[{"name":"models/gemini-one"}]}`)
		case "/v1beta/tunedModels/mine":
			_, _ = io.WriteString(w, `{"name":"tunedModels/mine"}`)
		default:
			http.NotFound(w, r)
		}
	}))
	defer srv.Close()
	for model, want := range map[string][]string{
		"gemini-one":        {"gemini-one"},
		"models/gemini-one": {"gemini-one", "models/gemini-one"},
		"tunedModels/mine":  {"gemini-one", "tunedModels/mine"},
		"gemini-two":        {"gemini-one"},
	} {
		p, err := gemini.New(llm.Config{BaseURL: srv.URL, APIKey: "the key", Model: model}, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.Models(t.Context())
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", model, err, diff)
		}
	}
	p, _ := gemini.New(llm.Config{BaseURL: srv.URL, APIKey: "another"}, nil)
	if _, err := p.Models(t.Context()); err == nil || llm.AsError(err).Code != llm.CodeProviderAuth {
		t.Errorf("got %v", err)
	}
}

func TestModelsOfAnotherAPI(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{}`) }))
	defer srv.Close()
	p, _ := gemini.New(llm.Config{BaseURL: srv.URL}, nil)
	if _, err := p.Models(t.Context()); !errors.Is(err, llm.ErrForeign) {
		t.Errorf("got %v", err)
	}
}
