package openai_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"agenthost/llm"

	"github.com/google/go-cmp/cmp"
)

func TestModels(t *testing.T) {
	tests := map[string]struct {
		model, body string
		want        []string
	}{
		"a list":                   {"a", `{"object":"list","data":[{"id":"a","owned_by":"x"},{"id":"b"}]}`, []string{"a", "b"}},
		"a bare list":              {"a", `[{"id":"a"},{"id":"b"}]`, []string{"a", "b"}},
		"none":                     {"a", `{"object":"list","data":null}`, []string{}},
		"the latest":               {"a", `{"data":[{"id":"a:latest"}]}`, []string{"a:latest", "a"}},
		"one of llama.cpp":         {"a", `{"data":[{"id":"/models/b.gguf","owned_by":"llamacpp"}]}`, []string{"/models/b.gguf", "a"}},
		"another":                  {"a", `{"data":[{"id":"b"}]}`, []string{"b"}},
		"a variant of another one": {"b:c", `{"data":[{"id":"b"}]}`, []string{"b"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodGet || r.URL.Path != "/v1/models" || r.URL.RawQuery != "api-version=1" || r.Header.Get("Authorization") != "Bearer "+key {
					t.Errorf("%s %s", r.Method, r.URL)
				}
				stream(tt.body)(w, r)
			}))
			defer srv.Close()
			p := provider(t, llm.Config{BaseURL: srv.URL + "/v1?api-version=1", APIKey: key, Model: tt.model}, nil)
			got, err := p.Models(t.Context())
			if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
				t.Error(err, diff)
			}
		})
	}
}

// What stands for a list although the server has the name by another.
func TestModelsOfGateways(t *testing.T) {
	for base, model := range map[string]string{"https://openrouter.ai/api/v1": "b:nitro", "https://x.openai.azure.com/openai/v1": "my-deployment"} {
		transport := body(func() io.Reader { return strings.NewReader(`{"data":[{"id":"b"}]}`) })
		p := provider(t, llm.Config{BaseURL: base, Model: model}, transport)
		got, err := p.Models(t.Context())
		if err != nil || !slices.Contains(got, model) {
			t.Errorf("%s: got %v, %v", base, got, err)
		}
	}
}

func TestModelsFail(t *testing.T) {
	tests := map[string]struct {
		handler http.HandlerFunc
		status  int
		code    llm.Code
		foreign bool
	}{
		"HTML":          {stream("<html>"), 200, llm.CodeProviderUnavailable, true},
		"other JSON":    {stream(`{"data":{}}`), 200, llm.CodeProviderUnavailable, true},
		"nothing":       {stream(""), 200, llm.CodeProviderUnavailable, true},
		"refused":       {respond(401, nil, `{"error":"no `+key+`"}`), 401, llm.CodeProviderAuth, false},
		"not there":     {respond(404, nil, ""), 404, llm.CodeProviderUnavailable, false},
		"a redirect":    {http.RedirectHandler("/v2?"+key, http.StatusMovedPermanently).ServeHTTP, 301, llm.CodeProviderUnavailable, false},
		"broken inside": {respond(200, http.Header{"Content-Length": {"100"}}, `{"data":`), 0, llm.CodeProviderUnavailable, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := serve(t, tt.handler).Models(t.Context())
			e := llm.AsError(err)
			if e == nil || e.Status != tt.status || e.Code != tt.code || errors.Is(err, llm.ErrForeign) != tt.foreign || strings.Contains(err.Error(), key) {
				t.Errorf("got %+v", e)
			}
		})
	}
}
