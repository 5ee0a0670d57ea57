package llm_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"agenthost/llm"

	"github.com/google/go-cmp/cmp"
)

func TestErrorText(t *testing.T) {
	tests := map[string]struct {
		err  *llm.Error
		want string
	}{
		"with a status": {llm.StatusError(503, nil, io.EOF), "model: status 503: EOF"},
		"without":       {llm.Unavailable(io.EOF), "model: EOF"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tt.err.Error(); got != tt.want || !errors.Is(tt.err, io.EOF) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestAsError(t *testing.T) {
	if llm.AsError(nil) != nil {
		t.Error("nil is an error")
	}
	one := llm.Unavailable(io.EOF)
	if got := llm.AsError(fmt.Errorf("call: %w", one)); got != one {
		t.Errorf("got %v, want %v", got, one)
	}
	if got := llm.AsError(io.EOF); got.Code != llm.CodeInternal || !errors.Is(got, io.EOF) {
		t.Errorf("got %v, want an internal error", got)
	}
}

func TestStopped(t *testing.T) {
	cause := errors.New("user said stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if e := llm.Stopped(ctx); e.Code != llm.CodeCancelled || !errors.Is(e, cause) || e.Transient {
		t.Errorf("got %#v, want cancelled by its cause", e)
	}
	late, stop := context.WithDeadline(t.Context(), time.Time{})
	defer stop()
	if e := llm.Stopped(late); e.Code != llm.CodeRunTimeout || !errors.Is(e, context.DeadlineExceeded) {
		t.Errorf("got %#v, want run_timeout", e)
	}
}

func TestStatusError(t *testing.T) {
	tests := map[int]llm.Error{
		302: {Code: llm.CodeProviderUnavailable},
		400: {Code: llm.CodeValidation},
		401: {Code: llm.CodeProviderAuth},
		402: {Code: llm.CodeProviderAuth},
		403: {Code: llm.CodeProviderAuth},
		404: {Code: llm.CodeProviderUnavailable},
		408: {Code: llm.CodeProviderUnavailable, Transient: true},
		413: {Code: llm.CodeValidation, TooLong: true},
		422: {Code: llm.CodeValidation},
		429: {Code: llm.CodeProviderRateLimit, Transient: true},
		500: {Code: llm.CodeProviderUnavailable, Transient: true},
		529: {Code: llm.CodeProviderUnavailable, Transient: true},
	}
	for status, want := range tests {
		want.Status = status
		if diff := cmp.Diff(want, *llm.StatusError(status, nil, nil)); diff != "" {
			t.Errorf("%d: %s", status, diff)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	tests := map[string]struct {
		seconds, millis string
		want            time.Duration
	}{
		"absent":             {"", "", 0},
		"seconds":            {"3", "", 3 * time.Second},
		"fraction":           {"0.5", "", 500 * time.Millisecond},
		"milliseconds first": {"3", "250", 250 * time.Millisecond},
		"date":               {"Sat, 01 Jan 2000 00:01:30 GMT", "", 90 * time.Second}, // a bubble begins in 2000
		"date gone by":       {"Fri, 31 Dec 1999 00:00:00 GMT", "", 0},
		"date far away":      {"Sat, 01 Jan 2050 00:00:00 GMT", "", 24 * time.Hour},
		"at once":            {"0", "", 250 * time.Millisecond}, // the shortest wait of a chain
		"at once in ms":      {"30", "0", 250 * time.Millisecond},
		"negative":           {"-3", "", 0},
		"endless":            {"1e300", "", 24 * time.Hour},
		"no number":          {"NaN", "", 0},
		"words":              {"later", "soon", 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := http.Header{}
				h.Set("Retry-After", tt.seconds)
				h.Set("Retry-After-Ms", tt.millis)
				if got := llm.StatusError(429, h, io.EOF).RetryAfter; got != tt.want {
					t.Errorf("got %v, want %v", got, tt.want)
				}
			})
		})
	}
}
