package discord

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"agenthost/internal/httptransport"
	"agenthost/plugins"
)

const (
	callFor   = 30 * time.Second
	uploadFor = 5 * time.Minute
	// fileSilence is how long nothing may come of a file: nothing else is read meanwhile.
	fileSilence = 30 * time.Second
	maxAnswer   = 32 << 20
	userAgent   = "DiscordBot (https://agenthost.invalid, 1)"
)

// An api calls Discord's REST API.
type api struct {
	base  string // up to the version
	token string
	http  *http.Client
	rates rates
}

func newAPI(base, token string) *api {
	return &api{base: strings.TrimRight(base, "/") + "/api/v10", token: token, http: &http.Client{
		Transport:     httptransport.New(),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// call sends body as JSON and decodes the answer into result; both may be nil.
func (a *api) call(ctx context.Context, method, path string, body, result any) error {
	var data []byte
	if body != nil {
		var err error
		if data, err = json.Marshal(body); err != nil {
			return fmt.Errorf("discord %s: encode: %w", path, err)
		}
	}
	return a.send(ctx, method, path, callFor, "application/json", data, result)
}

// upload sends body as JSON together with a file.
func (a *api) upload(ctx context.Context, path string, body any, file *plugins.File, result any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("discord %s: encode: %w", path, err)
	}
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	part, err := w.CreatePart(textproto.MIMEHeader{
		"Content-Disposition": {`form-data; name="payload_json"`}, "Content-Type": {"application/json"},
	})
	if err != nil {
		return fmt.Errorf("discord %s: %w", path, err)
	}
	_, _ = part.Write(data) // a bytes.Buffer takes all
	if part, err = w.CreateFormFile("files[0]", fileName(file)); err != nil {
		return fmt.Errorf("discord %s: %w", path, err)
	}
	_, _ = part.Write(file.Data)
	_ = w.Close()
	return a.send(ctx, http.MethodPost, path, uploadFor, w.FormDataContentType(), form.Bytes(), result)
}

func fileName(f *plugins.File) string {
	if name := path.Base(f.Name); f.Name != "" && name != "/" && name != "." {
		return name
	}
	return "file"
}

func (a *api) send(ctx context.Context, method, path string, within time.Duration, kind string, body []byte, result any) error {
	if err := a.rates.wait(method, path); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, a.base+path, bytes.NewReader(body))
	if err != nil {
		return shortened(path, err)
	}
	req.Header.Set("Authorization", "Bot "+a.token)
	req.Header.Set("User-Agent", userAgent)
	if len(body) > 0 {
		req.Header.Set("Content-Type", kind)
	}
	resp, err := a.http.Do(req)
	if err != nil {
		return shortened(path, err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return shortened(path, err)
	}
	a.rates.note(method, path, resp.Header)
	if resp.StatusCode/100 != 2 {
		return refusal(path, resp, data)
	}
	if result == nil || len(data) == 0 {
		return nil
	}
	if err := json.Unmarshal(data, result); err != nil {
		return fmt.Errorf("discord %s: HTTP %d is no answer of Discord: check the address of the API", path, resp.StatusCode)
	}
	return nil
}

// shortened is an error of the HTTP client without the address, which for an
// interaction holds a token.
func shortened(path string, err error) error {
	if withURL, ok := errors.AsType[*url.Error](err); ok {
		err = withURL.Err
	}
	if strings.HasPrefix(path, "/interactions/") {
		path = "/interactions"
	}
	return fmt.Errorf("discord %s: %w", path, err)
}

// An apiError is a refusal in Discord's own words.
type apiError struct {
	path    string
	status  int
	code    int
	message string
}

func (e *apiError) Error() string {
	if e.message == "" {
		return fmt.Sprintf("discord %s: HTTP %d", e.path, e.status)
	}
	return fmt.Sprintf("discord %s: %d %s", e.path, e.status, e.message)
}

// refusal says in the words of the contract what an answer means.
func refusal(path string, resp *http.Response, data []byte) error {
	var body struct {
		Code       int             `json:"code"`
		Message    string          `json:"message"`
		RetryAfter float64         `json:"retry_after"`
		Global     bool            `json:"global"`
		Errors     json.RawMessage `json:"errors"`
	}
	_ = json.Unmarshal(data, &body)
	e := &apiError{path: path, status: resp.StatusCode, code: body.Code, message: body.Message}
	if len(body.Errors) > 0 {
		e.message += " " + string(body.Errors)
	}
	switch e.status {
	case http.StatusTooManyRequests:
		global := body.Global || resp.Header.Get("X-RateLimit-Global") == "true" || resp.Header.Get("X-RateLimit-Scope") == "global"
		return &plugins.RateLimitError{After: retryAfter(body.RetryAfter, resp.Header.Get("Retry-After")), Account: global, Err: e}
	case http.StatusUnauthorized:
		return badToken(e)
	case http.StatusRequestEntityTooLarge:
		return plugins.Permanent(e)
	case http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound:
		if e.code != 0 || e.message != "" { // else it is a proxy's word
			return plugins.Permanent(e)
		}
	}
	return e
}

func badToken(err error) error {
	return plugins.NoLogin(fmt.Errorf("the token is not valid: make a new one in the developer portal (Bot, Reset Token) and correct it in the configuration: %w", err))
}

// retryAfter is the wait in seconds. Where the body seems to hold milliseconds, as
// has happened, the header is believed.
func retryAfter(seconds float64, header string) time.Duration {
	if h, err := strconv.ParseFloat(header, 64); err == nil && (seconds <= 0 || seconds > 10*h+10) {
		seconds = h
	}
	return time.Duration(seconds * float64(time.Second))
}
