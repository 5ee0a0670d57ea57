package matrix

import (
	"errors"
	"fmt"
	"net/http"

	"agenthost/plugins"
)

// loginError says that the homeserver does not let the account in, where that is what
// err means.
func loginError(err error) error {
	if refused, ok := errors.AsType[*apiError](err); ok && refused.Code == "M_LIMIT_EXCEEDED" {
		return &plugins.RateLimitError{After: refused.After, Account: true, Err: err}
	}
	switch code(err) {
	case "M_UNKNOWN_TOKEN", "M_MISSING_TOKEN":
		return plugins.NoLogin(fmt.Errorf("log in: %w; make a new token, or set user and password", err))
	case "M_USER_DEACTIVATED", "M_USER_SUSPENDED", "M_USER_LOCKED":
		return plugins.NoLogin(fmt.Errorf("log in: %w; ask who runs the homeserver", err))
	}
	return err
}

// deliveryError says what a refusal means for the message that was sent to a room.
func deliveryError(err error, room string) error {
	var refused *apiError
	if !errors.As(err, &refused) {
		return err
	}
	if refused.Code == "M_LIMIT_EXCEEDED" || refused.Status == http.StatusTooManyRequests {
		// A homeserver counts what a user sends, in whichever rooms.
		return &plugins.RateLimitError{After: refused.After, Account: true, Err: err}
	}
	if login := loginError(err); login != err { //nolint:errorlint // the same value, not its meaning
		return login
	}
	switch refused.Code {
	case "M_FORBIDDEN":
		return plugins.Permanent(fmt.Errorf("send to room %s: %w; invite the account into the room, with the right to write", room, err))
	case "M_TOO_LARGE":
		return plugins.Permanent(fmt.Errorf("send to room %s: %w; the homeserver takes less", room, err))
	}
	switch {
	case refused.Status == http.StatusRequestTimeout, refused.Status >= 500, refused.Code == "" && refused.Status != http.StatusRequestEntityTooLarge:
		return fmt.Errorf("send to room %s: %w", room, err) // without a code it is a proxy's word
	case refused.Status >= 400:
		return plugins.Permanent(fmt.Errorf("send to room %s: %w", room, err))
	}
	return err
}
