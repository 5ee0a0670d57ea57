package anthropic_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"agenthost/llm"

	"github.com/google/go-cmp/cmp"
)

// failed is an error as the API puts it, in a response or a stream.
func failed(kind, message string) string {
	return fmt.Sprintf(`{"type":"error","error":{"type":%q,"message":%q},"request_id":"req_1"}`, kind, message)
}

func TestStatusErrors(t *testing.T) {
	after := func(value string) http.Header { return http.Header{"Retry-After": {value}} }
	auth := llm.Error{Code: llm.CodeProviderAuth}
	invalid := llm.Error{Code: llm.CodeValidation}
	tooLong := llm.Error{Code: llm.CodeValidation, TooLong: true}
	unavailable := llm.Error{Code: llm.CodeProviderUnavailable, Transient: true}
	tests := map[string]struct {
		status int
		header http.Header
		body   string
		want   llm.Error
		text   string
	}{
		"bad request":   {400, nil, failed("invalid_request_error", "max_tokens: required"), invalid, "max_tokens: required"},
		"wrong key":     {401, nil, failed("authentication_error", "invalid x-api-key"), auth, "invalid x-api-key"},
		"unpaid":        {402, nil, failed("billing_error", "pay"), auth, "pay"},
		"no credit":     {400, nil, failed("invalid_request_error", "Your credit balance is too low to access the Anthropic API."), auth, "Your credit balance is too low to access the Anthropic API."},
		"forbidden":     {403, nil, failed("permission_error", "not you"), auth, "not you"},
		"unknown model": {404, nil, failed("not_found_error", "model: claude-9"), llm.Error{Code: llm.CodeProviderUnavailable}, "model: claude-9"},
		"too large":     {413, nil, failed("request_too_large", "Request exceeds the maximum size"), tooLong, "Request exceeds the maximum size"},
		"too long":      {400, nil, failed("invalid_request_error", "prompt is too long: 208310 tokens > 200000 maximum"), tooLong, "prompt is too long: 208310 tokens > 200000 maximum"},
		"too long with its answer": {
			400, nil, failed("invalid_request_error", "input length and `max_tokens` exceed context limit: 197000 + 8192 > 200000"), tooLong,
			"input length and `max_tokens` exceed context limit: 197000 + 8192 > 200000",
		},
		"rate limit": {
			429, after("7"), failed("rate_limit_error", "slow"),
			llm.Error{Code: llm.CodeProviderRateLimit, Transient: true, RetryAfter: 7 * time.Second},
			"slow",
		},
		"rate limit for long": {
			429, after(time.Now().Add(100 * time.Hour).UTC().Format(http.TimeFormat)), failed("rate_limit_error", "slow"),
			llm.Error{Code: llm.CodeProviderRateLimit, Transient: true, RetryAfter: 24 * time.Hour},
			"slow",
		},
		"server":         {500, nil, failed("api_error", "Internal server error"), unavailable, "Internal server error"},
		"gateway":        {502, nil, "<html><body>Bad Gateway</body></html>", unavailable, "bad gateway"},
		"overloaded":     {529, nil, failed("overloaded_error", "Overloaded"), unavailable, "Overloaded"},
		"no words":       {529, nil, "", unavailable, "unknown error"},
		"only a type":    {500, nil, failed("api_error", ""), unavailable, "api_error"},
		"a string":       {500, nil, `{"error":"oops"}`, unavailable, "oops"},
		"a bare message": {403, nil, `{"message":"no"}`, auth, "no"},
		"of odd form":    {400, nil, `{"error":{"code":7}}`, invalid, `{"code":7}`},
		"a text":         {400, nil, "no\n", invalid, "no"},
		"endless":        {400, nil, strings.Repeat("é", 9000), invalid, strings.Repeat("é", 250) + "…"},
		"moved":          {301, http.Header{"Location": {"/other"}}, "", llm.Error{Code: llm.CodeProviderUnavailable}, "moved permanently"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := readError(t, serve(t, respond(tt.status, tt.header, tt.body)))
			tt.want.Status, tt.want.Err = tt.status, errors.New(tt.text)
			if diff := cmp.Diff(tt.want, *err, cmp.Comparer(sameText)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestStreamErrors(t *testing.T) {
	unavailable := llm.Error{Code: llm.CodeProviderUnavailable, Transient: true}
	begun := events(start(`"input_tokens":3`), begin(0, textBlock), say("a"))
	tests := map[string]struct {
		body string
		want llm.Error
		text string
	}{
		"empty body":             {"", unavailable, "stream broke off"},
		"only an end":            {events(end), unavailable, "stream broke off"},
		"end before the reason":  {begun, unavailable, "stream broke off"},
		"end inside an event":    {begun + `data: {"type":"con`, unavailable, "read event: "},
		"nonsense":               {"data: nonsense\n\n", unavailable, "read event: "},
		"a page":                 {"\n<html>hello</html>", unavailable, "no message"},
		"other JSON":             {`{"status":"ok"}`, unavailable, "no message"},
		"broken JSON":            {`{"type":"message"`, unavailable, "read answer: "},
		"plain without a reason": {`{"type":"message","content":[{"type":"text","text":"a"}]}`, unavailable, "stream broke off"},
		"plain error":            {failed("overloaded_error", "no"), llm.Error{Code: unavailable.Code, Status: 529, Transient: true}, "no"},
		"words":                  {"It works!", unavailable, "stream broke off"},

		"two calls of two answers": {
			events(startOf(`"a"`), begin(0, toolBlock), args(0, "{}"), startOf(`"b"`), begin(0, `{"type":"tool_use","id":"y","name":"f","input":{}}`), args(0, "{}"), stop("tool_use"), end),
			unavailable, "two answers",
		},
		"a second answer after a reason": {begun + events(done(0), stop("end_turn"), startOf(`"b"`), begin(0, textBlock), say("b"), stop("end_turn"), end), unavailable, "two answers"},

		"overloaded":     {begun + events(failed("overloaded_error", "Overloaded")), llm.Error{Code: unavailable.Code, Status: 529, Transient: true}, "Overloaded"},
		"server":         {events(failed("api_error", "oops")), llm.Error{Code: unavailable.Code, Status: 500, Transient: true}, "oops"},
		"timeout":        {events(failed("timeout_error", "oops")), llm.Error{Code: unavailable.Code, Status: 504, Transient: true}, "oops"},
		"rate limit":     {events(failed("rate_limit_error", "slow")), llm.Error{Code: llm.CodeProviderRateLimit, Status: 429, Transient: true}, "slow"},
		"too long":       {events(failed("invalid_request_error", "prompt is too long: 2 tokens > 1 maximum")), llm.Error{Code: llm.CodeValidation, Status: 400, TooLong: true}, "prompt is too long"},
		"the key":        {events(failed("authentication_error", "no")), llm.Error{Code: llm.CodeProviderAuth, Status: 401}, "no"},
		"unknown":        {events(failed("new_error", "no")), unavailable, "no"},
		"without a name": {"data: " + failed("rate_limit_error", "slow") + "\n\n", llm.Error{Code: llm.CodeProviderRateLimit, Status: 429, Transient: true}, "slow"},
		"bare":           {"event: error\ndata: {\"type\":\"overloaded_error\",\"message\":\"no\"}\n\n", llm.Error{Code: unavailable.Code, Status: 529, Transient: true}, "no"},
		"a string":       {"event: error\ndata: {\"error\":\"no\"}\n\n", unavailable, "no"},
		"a text":         {"event: error\ndata: no\n\n", unavailable, "no"},
		"without a word": {"event: error\n\n", unavailable, "unknown error"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := readError(t, serve(t, stream(tt.body)))
			if !strings.Contains(err.Err.Error(), tt.text) {
				t.Errorf("got %v, want %q in it", err, tt.text)
			}
			tt.want.Err = err.Err
			if diff := cmp.Diff(tt.want, *err, cmp.Comparer(sameText)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func sameText(a, b error) bool { return a.Error() == b.Error() }
