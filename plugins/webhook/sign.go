package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"agenthost/plugins/settings"
)

// staleAfter is how far from now a timestamp may be, either way.
const staleAfter = 5 * time.Minute

// Headers of Standard Webhooks, and those of GitHub.
const (
	idHeader        = "Webhook-Id"
	timestampHeader = "Webhook-Timestamp"
	signatureHeader = "Webhook-Signature"

	gitHubID        = "X-Github-Delivery"
	gitHubSignature = "X-Hub-Signature-256"
	gitHubEvent     = "X-Github-Event"
)

var (
	errTime      = errors.New("webhook-timestamp is not a Unix time in seconds")
	errStale     = errors.New("webhook-timestamp is not within five minutes of now")
	errSignature = errors.New("the signature does not match")
	errForm      = errors.New("the body is a form; set the content type of the webhook to application/json at GitHub")
	errPing      = errors.New("ping") // which GitHub sends to see whether something answers
	errToken     = errors.New("want Authorization: Bearer and the secret")
)

// A signer signs requests and checks their signatures.
type signer struct {
	scheme string
	key    []byte
	secret string // as it is configured, for SchemeToken
}

// checkKind checks that a request that is signed brings what can be a message.
func (s signer) checkKind(h http.Header) error {
	if s.scheme != settings.SchemeGitHub {
		return nil
	}
	if kind, _, _ := mime.ParseMediaType(h.Get("Content-Type")); kind == "application/x-www-form-urlencoded" {
		return errForm
	}
	if h.Get(gitHubEvent) == "ping" {
		return errPing
	}
	return nil
}

// checkHead checks what can be known before the body is read, and returns the id;
// only with SchemeToken there may be none.
func (s signer) checkHead(h http.Header) (id string, err error) {
	switch s.scheme {
	case settings.SchemeToken:
		scheme, sent, _ := strings.Cut(h.Get("Authorization"), " ")
		if !strings.EqualFold(scheme, "Bearer") || subtle.ConstantTimeCompare([]byte(sent), []byte(s.secret)) != 1 {
			return "", errToken
		}
		return h.Get(idHeader), nil
	case settings.SchemeGitHub:
		return h.Get(gitHubID), missing(h, gitHubID, gitHubSignature)
	}
	if err := missing(h, idHeader, timestampHeader, signatureHeader); err != nil {
		return "", err
	}
	seconds, err := strconv.ParseInt(h.Get(timestampHeader), 10, 64)
	if err != nil {
		return "", errTime
	}
	if age := time.Since(time.Unix(seconds, 0)); age > staleAfter || age < -staleAfter {
		return "", errStale
	}
	return h.Get(idHeader), nil
}

// missing names the first of the headers that a request does not have.
func missing(h http.Header, names ...string) error {
	for _, name := range names {
		if h.Get(name) == "" {
			return fmt.Errorf("the header %s is missing", strings.ToLower(name))
		}
	}
	return nil
}

// checkBody checks the signature of the body.
func (s signer) checkBody(h http.Header, id string, body []byte) error {
	switch s.scheme {
	case settings.SchemeToken:
		return nil // checkHead has
	case settings.SchemeGitHub:
		sent, err := hex.DecodeString(strings.TrimPrefix(h.Get(gitHubSignature), "sha256="))
		if err != nil || !hmac.Equal(sent, s.mac(body)) {
			return errSignature
		}
		return nil
	}
	want := s.mac([]byte(id+"."+h.Get(timestampHeader)+"."), body)
	for one := range strings.FieldsSeq(h.Get(signatureHeader)) { // several while a key is changed for another
		version, encoded, _ := strings.Cut(one, ",")
		sent, err := base64.StdEncoding.DecodeString(encoded)
		if err == nil && version == "v1" && hmac.Equal(sent, want) {
			return nil
		}
	}
	return errSignature
}

// sign sets the headers of a request with that body.
func (s signer) sign(h http.Header, id string, at time.Time, body []byte) {
	timestamp := strconv.FormatInt(at.Unix(), 10)
	h.Set(idHeader, id)
	h.Set(timestampHeader, timestamp)
	switch s.scheme {
	case settings.SchemeToken:
		h.Set("Authorization", "Bearer "+s.secret)
	case settings.SchemeGitHub:
		h.Set(gitHubID, id)
		h.Set(gitHubSignature, "sha256="+hex.EncodeToString(s.mac(body)))
	default:
		h.Set(signatureHeader, "v1,"+base64.StdEncoding.EncodeToString(s.mac([]byte(id+"."+timestamp+"."), body)))
	}
}

func (s signer) mac(parts ...[]byte) []byte {
	m := hmac.New(sha256.New, s.key)
	for _, part := range parts {
		_, _ = m.Write(part) // it never fails
	}
	return m.Sum(nil)
}
