package plugins

import (
	"errors"
	"fmt"
	"time"

	"agenthost/bus"
)

// A PermanentError says that the platform will never take the message.
type PermanentError struct{ Err error }

// Permanent wraps err in a PermanentError.
func Permanent(err error) error { return &PermanentError{err} }

func (e *PermanentError) Error() string { return e.Err.Error() }
func (e *PermanentError) Unwrap() error { return e.Err }

// A LoginError says that the platform does not let the account in: a wrong token, a
// ban, a closed account.
type LoginError struct{ Err error }

// NoLogin wraps err in a LoginError.
func NoLogin(err error) error { return &LoginError{err} }

func (e *LoginError) Error() string { return e.Err.Error() }
func (e *LoginError) Unwrap() error { return e.Err }

// An AfterLoginError says that the platform has let the account in, and has not taken the message
// for now.
type AfterLoginError struct{ Err error }

// AfterLogin wraps err in an AfterLoginError.
func AfterLogin(err error) error { return &AfterLoginError{err} }

func (e *AfterLoginError) Error() string { return e.Err.Error() }
func (e *AfterLoginError) Unwrap() error { return e.Err }

// A RateLimitError says that the platform takes nothing for a while.
type RateLimitError struct {
	After   time.Duration // how long; 0: it does not say
	Account bool          // in no chat; else in the message's chat
	Err     error
}

func (e *RateLimitError) Error() string {
	if e.After <= 0 {
		return fmt.Sprintf("rate limit: %v", e.Err)
	}
	return fmt.Sprintf("rate limit for %s: %v", e.After, e.Err)
}

func (e *RateLimitError) Unwrap() error { return e.Err }

// ErrTooLarge is wrapped when a message is larger than NATS takes.
var ErrTooLarge = errors.New("the message is too large")

// ErrNoReply is wrapped when a message is taken and its reply cannot be waited for any longer.
// It is not to be sent again.
var ErrNoReply = errors.New("the message is taken; its reply has not come yet")

// ErrIDUsed says that an earlier message had the id, longer ago than its text is known.
var ErrIDUsed = errors.New("an earlier message had this id, and its reply may be to another text; send this one under a new id")

// ErrMalformed is wrapped when what was received cannot be a message, or not one of
// this account. It can never be taken.
var ErrMalformed = bus.ErrMalformed
