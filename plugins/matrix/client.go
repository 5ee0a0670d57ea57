package matrix

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
	apiPath     = "/_matrix/client/v3"
	requestTime = 90 * time.Second // longer than a sync waits
	answerSize  = 64 << 20         // of an answer in JSON
)

// A client calls a homeserver as one device of a user. It does not change.
type client struct {
	base   string
	http   *http.Client
	token  string
	user   string // its Matrix ID
	device string
}

// An apiError is what a homeserver says when it refuses a request.
type apiError struct {
	Status  int
	Code    string        `json:"errcode"`
	Message string        `json:"error"`
	RetryMS int64         `json:"retry_after_ms"`
	After   time.Duration `json:"-"`
}

func (e *apiError) Error() string {
	if e.Code == "" {
		return fmt.Sprintf("the homeserver answers %d %s", e.Status, http.StatusText(e.Status))
	}
	return fmt.Sprintf("%s (%s)", strings.TrimSuffix(e.Message, "."), e.Code)
}

// code is the errcode with which a homeserver has refused; empty for other errors.
func code(err error) string {
	if refused, ok := errors.AsType[*apiError](err); ok {
		return refused.Code
	}
	return ""
}

// path joins escaped segments below the client API.
func path(segments ...string) string {
	var b strings.Builder
	b.WriteString(apiPath)
	for _, segment := range segments {
		b.WriteString("/" + url.PathEscape(segment))
	}
	return b.String()
}

// call sends body as JSON and decodes the answer into result; either may be nil.
func (c *client) call(ctx context.Context, method, path string, query url.Values, body, result any) error {
	var content io.Reader
	if body != nil {
		encoded, err := encode(body)
		if err != nil {
			return err
		}
		content = bytes.NewReader(encoded)
	}
	resp, err := c.do(ctx, method, path, query, "application/json", content)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if result == nil {
		return nil
	}
	if err := decode(resp.Body, result); err != nil {
		return fmt.Errorf("read the answer to %s: %w", path, err)
	}
	return nil
}

func decode(body io.Reader, result any) error {
	return json.NewDecoder(io.LimitReader(body, answerSize)).Decode(result)
}

// do sends a request and returns an answer of 2xx, whose body the caller closes.
func (c *client) do(ctx context.Context, method, path string, query url.Values, contentType string, body io.Reader) (*http.Response, error) {
	address := c.base + path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, address, body)
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", contentType)
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("homeserver: %w", err)
	}
	if resp.StatusCode/100 == 2 {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, refusal(resp)
}

func refusal(resp *http.Response) error {
	e := &apiError{}
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	_ = json.Unmarshal(body, e) // a proxy answers in HTML: then the status says it
	e.Status = resp.StatusCode
	e.After = time.Duration(e.RetryMS) * time.Millisecond
	if seconds, err := strconv.ParseFloat(resp.Header.Get("Retry-After"), 64); err == nil {
		e.After = max(e.After, time.Duration(seconds*float64(time.Second)))
	}
	return e
}

// encode leaves < and > as they are: the six bytes of an escape would count towards
// the size of an event.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
