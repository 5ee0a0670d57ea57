package gemini_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"agenthost/llm"
	"agenthost/llm/llmtest"

	"github.com/google/go-cmp/cmp"
)

// said is an error as the API writes it.
func said(code int, status, message string, details ...string) string {
	return fmt.Sprintf(`{"error":{"code":%d,"message":%q,"status":%q,"details":[%s]}}`, code, message, status, strings.Join(details, ","))
}

const (
	retryInfo = `{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"7.5s"}`
	badKey    = `{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID","domain":"googleapis.com","metadata":{"service":"x"}}`
	perDay    = `{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaMetric":"m","quotaId":"GenerateRequestsPerDayPerProject-FreeTier","quotaValue":"20"}]}`
	tooLong   = "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."
)

func TestStatusErrors(t *testing.T) {
	auth := llm.Error{Code: llm.CodeProviderAuth}
	invalid := llm.Error{Code: llm.CodeValidation}
	gone := llm.Error{Code: llm.CodeProviderUnavailable}
	busy := llm.Error{Code: llm.CodeProviderUnavailable, Transient: true}
	tests := map[string]struct {
		status int
		header http.Header
		body   string
		want   llm.Error
		text   string
	}{
		"wrong key":           {400, nil, said(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", badKey), auth, "API key not valid. Please pass a valid API key."},
		"wrong key, by code":  {400, nil, said(400, "INVALID_ARGUMENT", "no", badKey), auth, "no"},
		"wrong key, by text":  {400, nil, said(400, "INVALID_ARGUMENT", "API key expired. Please renew the API key."), auth, "API key expired. Please renew the API key."},
		"not paid for":        {400, nil, said(400, "FAILED_PRECONDITION", "User location is not supported for the API use."), auth, "User location is not supported for the API use."},
		"no key":              {401, nil, said(401, "UNAUTHENTICATED", "who?"), auth, "who?"},
		"forbidden":           {403, nil, said(403, "PERMISSION_DENIED", "not you"), auth, "not you"},
		"bad request":         {400, nil, said(400, "INVALID_ARGUMENT", "bad"), invalid, "bad"},
		"in a list":           {400, nil, "[" + said(400, "INVALID_ARGUMENT", "bad") + "\n]", invalid, "bad"},
		"too long":            {400, nil, said(400, "INVALID_ARGUMENT", tooLong), llm.Error{Code: llm.CodeValidation, TooLong: true}, tooLong},
		"too large":           {413, nil, "", llm.Error{Code: llm.CodeValidation, TooLong: true}, "request entity too large"},
		"unknown model":       {404, nil, said(404, "NOT_FOUND", "models/x is not found"), gone, "models/x is not found"},
		"moved":               {307, http.Header{"Location": {"https://elsewhere/"}}, "", gone, "temporary redirect"},
		"rate limit":          {429, nil, said(429, "RESOURCE_EXHAUSTED", "slow", retryInfo), llm.Error{Code: llm.CodeProviderRateLimit, Transient: true, RetryAfter: 7500 * time.Millisecond}, "slow"},
		"rate limit, header":  {429, http.Header{"Retry-After": {"9"}}, said(429, "RESOURCE_EXHAUSTED", "slow", retryInfo), llm.Error{Code: llm.CodeProviderRateLimit, Transient: true, RetryAfter: 9 * time.Second}, "slow"},
		"rate limit, years":   {429, nil, said(429, "RESOURCE_EXHAUSTED", "slow", `{"retryDelay":"2000000h"}`), llm.Error{Code: llm.CodeProviderRateLimit, Transient: true, RetryAfter: 24 * time.Hour}, "slow"},
		"rate limit, at once": {429, nil, said(429, "RESOURCE_EXHAUSTED", "slow", `{"retryDelay":"0s"}`), llm.Error{Code: llm.CodeProviderRateLimit, Transient: true, RetryAfter: 250 * time.Millisecond}, "slow"},
		"rate limit, minus":   {429, nil, said(429, "RESOURCE_EXHAUSTED", "slow", `{"retryDelay":"-1s"}`), llm.Error{Code: llm.CodeProviderRateLimit, Transient: true}, "slow"},
		"rate limit of a day": {429, nil, said(429, "RESOURCE_EXHAUSTED", "slow", perDay), llm.Error{Code: llm.CodeProviderRateLimit}, "slow"},
		"cancelled":           {499, nil, said(499, "CANCELLED", "The operation was cancelled."), busy, "The operation was cancelled."},
		"server":              {500, nil, said(500, "INTERNAL", "oops"), busy, "oops"},
		"overloaded":          {503, nil, said(503, "UNAVAILABLE", "The model is overloaded."), busy, "The model is overloaded."},
		"timeout":             {504, nil, said(504, "DEADLINE_EXCEEDED", ""), busy, "DEADLINE_EXCEEDED"},
		"gateway":             {502, nil, "<html><body>Bad Gateway</body></html>", busy, "bad gateway"},
		"empty":               {500, nil, "", busy, "internal server error"},
		"a text":              {500, nil, "oops", busy, "oops"},
		"one string":          {400, nil, `{"error":"bad"}`, invalid, "bad"},
		"odd code":            {400, nil, `{"error":{"code":"bad_thing","message":"bad"}}`, invalid, "bad"},
		"odd error":           {400, nil, `{"error":[1]}`, invalid, `{"error":[1]}`},
		"endless":             {400, nil, strings.Repeat("é", 9000), invalid, strings.Repeat("é", 250) + "…"},
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
	busy := llm.Error{Code: llm.CodeProviderUnavailable, Transient: true}
	with := func(status int) llm.Error { e := busy; e.Status = status; return e }
	tests := map[string]struct {
		body string
		want llm.Error
		text string
	}{
		"empty body":          {"", busy, "stream broke off"},
		"only [DONE]":         {"data: [DONE]\n\n", busy, "stream broke off"},
		"end before finish":   {events(say("a")), busy, "stream broke off"},
		"end inside a chunk":  {events(say("a")) + `data: {"cand`, busy, "read chunk: "},
		"a chunk of nonsense": {events("nonsense"), busy, "read chunk: "},
		"data of no base64":   {events(parts(`{"inlineData":{"data":"?"}}`)), busy, "read chunk: "},
		"a page":              {"\n<html>hello</html>", busy, "no content of a model"},
		"other JSON":          {`{"status":"ok"}`, busy, "no content of a model"},
		"broken JSON":         {`{"candidates":[`, busy, "read answer: "},
		"broken list":         {"[" + say("a") + ",", busy, "read answer: "},
		"empty list":          {"[]", busy, "stream broke off"},
		"words":               {"It works!", busy, "stream broke off"},
		"plain error":         {said(503, "UNAVAILABLE", "no"), with(503), "no"},
		"listed error":        {"[" + say("a") + "," + said(500, "INTERNAL", "no") + "]", with(500), "no"},
		"error":               {events(say("a"), said(503, "UNAVAILABLE", "no")), with(503), "no"},
		"named error":         {"event: error\n" + events(said(503, "UNAVAILABLE", "no")), with(503), "no"},
		"error by name only":  {events(`{"error":{"message":"no","status":"INTERNAL"}}`), with(500), "no"},
		"error by text code":  {events(`{"error":{"message":"no","code":"503"}}`), with(503), "no"},
		"error in one string": {events(`{"error":"no"}`), busy, "no"},
		"unknown error":       {events(`{"error":{}}`), busy, "unknown error"},
		"two calls of two answers": {
			events(of(`"a"`, parts(call("f", "{}"))), of(`"a"`, finish("STOP")), of(`"b"`, parts(call("f", "{}"))), of(`"b"`, finish("STOP"))),
			busy, "two answers",
		},
		"rate limit": {
			events(said(429, "RESOURCE_EXHAUSTED", "slow", retryInfo)),
			llm.Error{Code: llm.CodeProviderRateLimit, Status: 429, Transient: true, RetryAfter: 7500 * time.Millisecond},
			"slow",
		},
		"too long": {
			events(said(400, "INVALID_ARGUMENT", tooLong)),
			llm.Error{Code: llm.CodeValidation, Status: 400, TooLong: true},
			"token count",
		},
		"wrong key": {events(said(400, "INVALID_ARGUMENT", "no", badKey)), llm.Error{Code: llm.CodeProviderAuth, Status: 400}, "no"},
		"aborted":   {events(said(409, "ABORTED", "no")), with(409), "no"},
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

func TestUsageBeforeAnErrorIsKept(t *testing.T) {
	p := serve(t, stream(events(`{"candidates":[{"content":{"parts":[{"text":"a"}]}}],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":1}}`)))
	if a := read(t, p, llmtest.Request()); a.Err == nil || a.Usage != (llm.Usage{Input: 3, Output: 1}) {
		t.Errorf("got %+v, %v", a.Usage, a.Err)
	}
}

// TestSlowAfterAFinish has a server that finishes with every chunk, and takes a
// while for each.
func TestSlowAfterAFinish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		chunk := events(`{"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"}]}`)
		left := 5
		p := provider(t, llm.Config{}, roundTripper(func(r *http.Request) (*http.Response, error) {
			slow := readerFunc(func(b []byte) (int, error) {
				if left--; left < 0 {
					return 0, io.EOF
				}
				select {
				case <-time.After(1500 * time.Millisecond):
				case <-r.Context().Done():
					return 0, r.Context().Err()
				}
				return copy(b, chunk), nil
			})
			return &http.Response{StatusCode: 200, Body: io.NopCloser(slow)}, nil
		}))
		if a := read(t, p, llmtest.Request()); a.Err != nil || a.Message.Text() != "aaaaa" {
			t.Errorf("got %q, %v, want all five", a.Message.Text(), a.Err)
		}
	})
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

func sameText(a, b error) bool { return a.Error() == b.Error() }
