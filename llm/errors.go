package llm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"time"
)

// A Code is one of the closed set of reasons a run can end with.
type Code string

// The codes. Cancelled wins over every other.
const (
	CodeValidation          Code = "validation"
	CodeRateLimited         Code = "rate_limited" // a sender who writes more than the binding lets
	CodeContentFilter       Code = "content_filter"
	CodeProviderAuth        Code = "provider_auth"
	CodeProviderRateLimit   Code = "provider_rate_limit"
	CodeProviderUnavailable Code = "provider_unavailable"
	CodeToolDenied          Code = "tool_denied"
	CodeToolFailed          Code = "tool_failed"
	CodeToolUnavailable     Code = "tool_unavailable"
	CodeBudgetExceeded      Code = "budget_exceeded"
	CodeRunTimeout          Code = "run_timeout"
	CodeTurnLimit           Code = "turn_limit"
	CodeCompactionFailed    Code = "compaction_failed"
	CodeCancelled           Code = "cancelled"
	CodeSandboxError        Code = "sandbox_error"
	CodeInternal            Code = "internal"
)

// An Error is what a provider ended with.
type Error struct {
	Code       Code
	Status     int           // the HTTP status, 0 when there was none
	RetryAfter time.Duration // how long the provider asks to wait, 0 when it did not say
	Transient  bool          // worth another try, with the same provider or another
	TooLong    bool          // the request does not fit the model's window
	Exhausted  bool          // this process has no descriptor left: it says nothing of the model
	Elsewhere  bool          // another server of the model may be asked at once: it says nothing of the model
	TimedOut   bool          // one of the call's timeouts ran out: another model is asked before this one is tried again
	Err        error
}

func (e *Error) Error() string {
	if e.Status != 0 {
		return fmt.Sprintf("model: status %d: %v", e.Status, e.Err)
	}
	return fmt.Sprintf("model: %v", e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// Unavailable is the transient error of a provider that could not be reached,
// or whose answer broke off or made no sense. Where it could not be reached
// because the descriptors of this process are used up, the error is internal.
func Unavailable(err error) *Error {
	if NoDescriptors(err) {
		return &Error{Code: CodeInternal, Transient: true, Exhausted: true, Err: err}
	}
	return &Error{Code: CodeProviderUnavailable, Transient: true, Err: err}
}

// ErrForeign is the cause of an Error when a server answers well, but not as
// the API does.
var ErrForeign = errors.New("server answers with something that is not of this API; is base_url right?")

// NoDescriptors reports whether err is that of a process, or of a machine, that
// has too many files open.
func NoDescriptors(err error) bool {
	if err == nil {
		return false
	}
	// A resolver passes its errors on in words.
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) ||
		strings.Contains(err.Error(), syscall.EMFILE.Error())
}

// Stopped is the error of a stream whose ctx ended: run_timeout when its time
// was up, else cancelled. It wraps the cause of ctx.
func Stopped(ctx context.Context) *Error {
	code := CodeCancelled
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		code = CodeRunTimeout
	}
	return &Error{Code: code, Err: context.Cause(ctx)}
}

// AsError is err as an *Error; any other error becomes an internal one, and
// nil stays nil.
func AsError(err error) *Error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{Code: CodeInternal, Err: err}
}

// StatusError is err classified by the HTTP status that came with it; header
// may say when to try again and may be nil.
func StatusError(status int, header http.Header, err error) *Error {
	e := &Error{Status: status, RetryAfter: retryAfter(header), Err: err}
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusPaymentRequired:
		e.Code = CodeProviderAuth
	case status == http.StatusTooManyRequests:
		e.Code, e.Transient = CodeProviderRateLimit, true
	case status == http.StatusRequestTimeout, status >= 500:
		e.Code, e.Transient = CodeProviderUnavailable, true
	case status < 400, status == http.StatusNotFound, status == http.StatusMethodNotAllowed, status == http.StatusGone:
		// No such model or no such server: another try is in vain, another
		// provider is not.
		e.Code = CodeProviderUnavailable
	default:
		e.Code, e.TooLong = CodeValidation, status == http.StatusRequestEntityTooLarge
	}
	return e
}
