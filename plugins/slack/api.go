package slack

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	requestTime = 60 * time.Second
	answerSize  = 16 << 20
)

// An api calls the methods of Slack's Web API.
type api struct {
	base *url.URL
	http *http.Client
}

// An apiError is what Slack says when it refuses a call.
type apiError struct {
	Method string
	Status int
	Code   string        // such as channel_not_found
	Needed string        // the scope that is missing
	After  time.Duration // for how long it takes no more calls
}

func (e *apiError) Error() string {
	switch {
	case e.Code == "missing_scope" && e.Needed != "":
		return fmt.Sprintf("%s: missing_scope: the app needs %s", e.Method, e.Needed)
	case e.Code != "":
		return e.Method + ": " + e.Code
	}
	return fmt.Sprintf("%s: Slack answers %d %s", e.Method, e.Status, http.StatusText(e.Status))
}

// code is the word with which Slack has refused a call; empty for other errors.
func code(err error) string {
	if refused, ok := errors.AsType[*apiError](err); ok {
		return refused.Code
	}
	return ""
}

// call calls a method and decodes the answer into result, which may be nil.
func (a api) call(ctx context.Context, token, method string, arguments url.Values, result any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.base.JoinPath(method).String(), strings.NewReader(arguments.Encode()))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := a.http.Do(req)
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, answerSize))
	if err != nil {
		return fmt.Errorf("%s: read the answer: %w", method, err)
	}
	var answer struct {
		OK     bool   `json:"ok"`
		Error  string `json:"error"`
		Needed string `json:"needed"`
	}
	invalid := json.Unmarshal(body, &answer)
	if resp.StatusCode != http.StatusOK || !answer.OK {
		if invalid == nil && answer.Error == "" && resp.StatusCode == http.StatusOK {
			answer.Error = "no reason given"
		}
		return &apiError{Method: method, Status: resp.StatusCode, Code: answer.Error, Needed: answer.Needed, After: retryAfter(resp)}
	}
	if result == nil {
		return nil
	}
	if err := json.Unmarshal(body, result); err != nil {
		return fmt.Errorf("%s: read the answer: %w", method, err)
	}
	return nil
}

func retryAfter(resp *http.Response) time.Duration {
	seconds, err := strconv.ParseFloat(resp.Header.Get("Retry-After"), 64)
	if err != nil || seconds < 0 {
		return 0
	}
	return time.Duration(seconds * float64(time.Second))
}

// upload sends the bytes of a file to the address that Slack gave for them.
func (a api) upload(ctx context.Context, address string, data []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(data))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/octet-stream")
	resp, err := a.http.Do(req)
	if err != nil {
		return fmt.Errorf("upload: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return &apiError{Method: "upload", Status: resp.StatusCode, After: retryAfter(resp)}
	}
	return nil
}

// trusts reports whether an address is Slack's own, so that it may see a token.
func (a api) trusts(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	if u.Host == a.base.Host && u.Scheme == a.base.Scheme {
		return true
	}
	return u.Scheme == "https" && (strings.HasSuffix(u.Hostname(), ".slack.com") || u.Hostname() == "slack.com")
}

// arguments are the arguments of a call; what is empty is left out.
func arguments(pairs ...string) url.Values {
	values := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			values.Set(pairs[i], pairs[i+1])
		}
	}
	return values
}

// inJSON is an argument that Slack takes as JSON.
func inJSON(v any) string {
	encoded, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(encoded)
}
