package httpapi_test

import (
	"errors"
	"strings"
	"testing"

	"agenthost/llm"
	"agenthost/llm/httpapi"
)

func TestShownErrorHasNoKeys(t *testing.T) {
	tests := map[string]string{
		"a key":                `Incorrect API key provided: sk-proj-Hunter2Hunter2. Find yours at https://x.test`,
		"a header":             `refused: Authorization: Bearer Hunter2`,
		"a header as JSON":     `{"headers":{"Authorization":"Basic Hunter2=="},"x-api-key":"Hunter2"}`,
		"a scheme alone":       `sent Bearer Hunter2.Hunter2.Hunter2`,
		"another header":       `sent X-Goog-Api-Key: Hunter2`,
		"a user in an address": `Post "https://me:Hunter2@x.test/v1": EOF`,
		"a query":              `Get "https://x.test/v1/models?key=Hunter2&alt=sse": EOF`,
		"another query":        `https://x.test/?a=b&access_token=Hunter2`,
		"a signature":          `https://x.test/?X-Amz-Signature=Hunter2&X-Amz-Credential=Hunter2`,
		"a field":              `{"client_secret": "Hunter2", "password":"Hunter2"}`,
		"of Google":            `API key AIzaHunter2Hunter2Hunter2 not valid`,
		"a signed token":       `token eyJhbGciOiJIUzI1NiJ9.Hunter2Hunter2.Hunter2`,
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			got := httpapi.Shown(t.Context(), llm.StatusError(400, nil, errors.New(text)), "other").Error()
			if strings.Contains(got, "Hunter2") || !strings.Contains(got, "[redacted]") {
				t.Errorf("got %s", got)
			}
		})
	}
}

func TestShownErrorKeepsItsWords(t *testing.T) {
	for _, text := range []string{
		`max_tokens is too large: 100000. This model supports at most 8192 completion tokens`,
		`invalid JSON: unexpected token '<' at 1`, `basic authentication is not supported`, `missing key "messages"`,
		`Post "https://api.x.test/v1/chat?alt=sse": dial tcp: lookup api.x.test: no such host`, `bearer token is missing`,
		`mail ops@x.test`,
	} {
		if got, want := httpapi.Shown(t.Context(), llm.Unavailable(errors.New(text)), "").Error(), "model: "+text; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// The key of a model, short as it may be for a server of one's own, does not break
// up those that others have put in the text.
func TestShortKeyHidesNoLessOfOthers(t *testing.T) {
	got := httpapi.Shown(t.Context(), llm.Unavailable(errors.New("no sk-proj-secretsecretsecret for k")), "k").Error()
	if strings.Contains(got, "secret") || strings.Contains(got, "for k") {
		t.Errorf("shown: %s", got)
	}
}

// A key that local servers are given for the sake of having one, such as "k" or
// "none", is hidden as a word, never amid others.
func TestShortKeyBreaksNoWords(t *testing.T) {
	err := llm.Unavailable(errors.New("stream broke off: key k, k. was k"))
	if got, want := httpapi.Shown(t.Context(), err, "k").Error(), "model: stream broke off: key [key], [key]. was [key]"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
