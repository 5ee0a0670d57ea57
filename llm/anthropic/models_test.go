package anthropic_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"agenthost/llm"
	"agenthost/llm/anthropic"

	"github.com/google/go-cmp/cmp"
)

func TestModels(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Api-Key") != "the key" || r.Header.Get("Anthropic-Version") == "" {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`)
			return
		}
		switch r.URL.String() {
		case "/v1/models?limit=1000":
			_, _ = io.WriteString(w, `{"data":[{"type":"model","id":"claude-one-20250101"}],"has_more":false}`)
		case "/v1/models/claude-one-latest":
			_, _ = io.WriteString(w, `{"type":"model","id":"claude-one-20250101"}`)
		default:
			http.NotFound(w, r)
		}
	}))
	defer srv.Close()
	for model, want := range map[string][]string{
		"claude-one-20250101": {"claude-one-20250101"},
		"claude-one-latest":   {"claude-one-20250101", "claude-one-latest"},
		"claude-two":          {"claude-one-20250101"},
	} {
		p, err := anthropic.New(llm.Config{BaseURL: srv.URL + "/v1", APIKey: "the key", Model: model}, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.Models(t.Context())
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", model, err, diff)
		}
	}
	p, _ := anthropic.New(llm.Config{BaseURL: srv.URL, APIKey: "another"}, nil)
	if _, err := p.Models(t.Context()); err == nil || llm.AsError(err).Code != llm.CodeProviderAuth {
		t.Errorf("got %v", err)
	}
}

func TestModelsOfAnotherAPI(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{}`) }))
	defer srv.Close()
	p, _ := anthropic.New(llm.Config{BaseURL: srv.URL}, nil)
	if _, err := p.Models(t.Context()); !errors.Is(err, llm.ErrForeign) {
		t.Errorf("got %v", err)
	}
}
