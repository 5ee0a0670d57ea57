package slack

import (
	"errors"
	"fmt"
	"net/http"

	"agenthost/plugins"
)

// logins are the words with which Slack does not let the app in, and what to do.
var logins = map[string]string{
	"invalid_auth":               "check bot_token and app_token",
	"not_authed":                 "check bot_token and app_token",
	"account_inactive":           "install the app again",
	"token_revoked":              "install the app again and set the new token",
	"token_expired":              "install the app again and set the new token",
	"not_allowed_token_type":     "app_token begins with xapp-, bot_token with xoxb-",
	"user_removed_from_team":     "install the app again",
	"team_access_not_granted":    "have an administrator approve the app",
	"org_login_required":         "wait until the workspace has moved",
	"ekm_access_denied":          "ask the workspace's administrators",
	"access_denied":              "ask the workspace's administrators",
	"socket_mode_disabled":       "turn on socket mode in the app's settings",
	"link_disabled":              "turn on socket mode in the app's settings",
	"missing_scope":              "add the scope to the app and install it again",
	"no_permission":              "add the scope to the app and install it again",
	"enterprise_is_restricted":   "install the app in a workspace",
	"two_factor_setup_required":  "set up two-factor authentication",
	"accesslimited":              "ask the workspace's administrators",
	"app_management_app_blocked": "ask the workspace's administrators",
}

// loginError says that Slack does not let the app in, where that is what err means.
func loginError(err error) error {
	if refused, ok := errors.AsType[*apiError](err); ok && refused.Status == http.StatusTooManyRequests {
		return &plugins.RateLimitError{After: refused.After, Account: true, Err: err}
	}
	if cure, known := logins[code(err)]; known {
		return plugins.NoLogin(fmt.Errorf("%w; %s", err, cure))
	}
	return err
}

// ofToken are those of them that hold for all calls: others may be about one channel.
var ofToken = map[string]bool{
	"invalid_auth": true, "not_authed": true, "account_inactive": true, "token_revoked": true, "token_expired": true,
	"not_allowed_token_type": true, "user_removed_from_team": true, "org_login_required": true, "two_factor_setup_required": true,
}

// transient are the words after which the same call may succeed.
var transient = map[string]bool{
	"internal_error": true, "fatal_error": true, "service_unavailable": true, "request_timeout": true,
	"team_added_to_org": true, "external_channel_migrating": true, "upload_failed": true, "no reason given": true,
}

// forGood reports whether Slack refuses a call for good.
func forGood(err error) bool {
	word := code(err)
	return word != "" && word != "ratelimited" && word != "rate_limited" && !transient[word]
}

// cures say what a person can do about a message that Slack will never take.
var cures = map[string]string{
	"channel_not_found":           "check the channel's id, and invite the app: /invite @app",
	"not_in_channel":              "invite the app: /invite @app",
	"is_archived":                 "the channel is archived; open it again",
	"user_not_found":              "check the person's id",
	"user_disabled":               "the person's account is closed",
	"cannot_dm_bot":               "an app cannot write to another",
	"restricted_action":           "the workspace does not let the app write there",
	"msg_too_long":                "the text is too long",
	"missing_scope":               "add the scope to the app and install it again",
	"file_upload_size_restricted": "the workspace takes smaller files",
}

// deliveryError says what a refusal means for the message that was sent to a channel.
func deliveryError(err error, channel string) error {
	var refused *apiError
	if !errors.As(err, &refused) {
		return err
	}
	switch {
	case refused.Status == http.StatusTooManyRequests, refused.Code == "ratelimited", refused.Code == "rate_limited":
		return &plugins.RateLimitError{After: refused.After, Err: err}
	case refused.Status >= 500, transient[refused.Code]:
		return fmt.Errorf("send to %s: %w", channel, err)
	case ofToken[refused.Code]:
		return loginError(err)
	case logins[refused.Code] != "" && cures[refused.Code] == "":
		return fmt.Errorf("send to %s: %w; %s", channel, err, logins[refused.Code])
	case refused.Code == "" && refused.Status != http.StatusRequestEntityTooLarge:
		return fmt.Errorf("send to %s: %w", channel, err) // a proxy's own words
	case cures[refused.Code] != "":
		return plugins.Permanent(fmt.Errorf("send to %s: %w; %s", channel, err, cures[refused.Code]))
	}
	return plugins.Permanent(fmt.Errorf("send to %s: %w", channel, err))
}
