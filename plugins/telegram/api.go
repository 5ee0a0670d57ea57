package telegram

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"time"

	"agenthost/internal/httptransport"
	"agenthost/plugins"
)

// How long calls may take. Telegram holds one that asks for updates for pollFor.
const (
	pollFor   = 30 * time.Second
	callFor   = 30 * time.Second
	uploadFor = 5 * time.Minute
	// fileSilence is how long nothing may come of a file: nothing else is read meanwhile.
	fileSilence = 30 * time.Second
)

// maxAnswer is how large an answer of the API may be.
const maxAnswer = 32 << 20

// An api calls the methods of the Bot API. The token is a part of each address, so
// no error of the HTTP client is passed on with its address.
type api struct {
	base  string // without a slash at its end
	token string
	http  *http.Client
}

func newAPI(base, token string) *api {
	transport := httptransport.New()
	return &api{base: strings.TrimRight(base, "/"), token: token, http: &http.Client{
		Transport: transport,
		// An address elsewhere must not learn the token.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// answer is what each method answers.
type answer struct {
	OK          bool            `json:"ok"`
	Result      json.RawMessage `json:"result"`
	ErrorCode   int             `json:"error_code"`
	Description string          `json:"description"`
	Parameters  struct {
		RetryAfter      int   `json:"retry_after"`
		MigrateToChatID int64 `json:"migrate_to_chat_id"`
	} `json:"parameters"`
}

// params are the parameters of a method.
type params map[string]any

// call calls a method and decodes its result into result, which may be nil.
func (a *api) call(ctx context.Context, method string, p params, result any) error {
	body, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("telegram %s: encode parameters: %w", method, err)
	}
	within := callFor
	if method == "getUpdates" {
		within += pollFor
	}
	return a.post(ctx, method, within, "application/json", bytes.NewReader(body), result)
}

// upload calls a method that sends a file, in the parameter field.
func (a *api) upload(ctx context.Context, method string, p params, field string, file *plugins.File, result any) error {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for name, value := range p {
		text, ok := value.(string)
		if !ok {
			encoded, err := json.Marshal(value)
			if err != nil {
				return fmt.Errorf("telegram %s: encode %s: %w", method, name, err)
			}
			text = string(encoded)
		}
		_ = form.WriteField(name, text) // a bytes.Buffer takes all
	}
	part, err := form.CreateFormFile(field, fileName(file))
	if err != nil {
		return fmt.Errorf("telegram %s: %w", method, err)
	}
	_, _ = part.Write(file.Data)
	_ = form.Close()
	return a.post(ctx, method, uploadFor, form.FormDataContentType(), &body, result)
}

func (a *api) post(ctx context.Context, method string, within time.Duration, kind string, body io.Reader, result any) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.base+"/bot"+a.token+"/"+method, body)
	if err != nil {
		return a.failed(method, err)
	}
	req.Header.Set("Content-Type", kind)
	resp, err := a.http.Do(req)
	if err != nil {
		return a.failed(method, err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return a.failed(method, err)
	}
	var got answer
	if err := json.Unmarshal(data, &got); err != nil {
		return fmt.Errorf("telegram %s: HTTP %d is no answer of the Bot API: check the address of the API", method, resp.StatusCode)
	}
	if !got.OK {
		return &apiError{
			method: method, code: got.ErrorCode, description: got.Description,
			after: time.Duration(got.Parameters.RetryAfter) * time.Second, migrated: got.Parameters.MigrateToChatID,
		}
	}
	if result == nil {
		return nil
	}
	if err := json.Unmarshal(got.Result, result); err != nil {
		return fmt.Errorf("telegram %s: decode result: %w", method, err)
	}
	return nil
}

// errNoFile is wrapped when Telegram does not give a file.
var errNoFile = errors.New("telegram does not give the file")

// download reads a file by the path that getFile has named.
func (a *api) download(ctx context.Context, path string, limit int64) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, uploadFor)
	defer cancel()
	ctx, silence := httptransport.WatchSilence(ctx, fileSilence)
	defer silence.Stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.base+"/file/bot"+a.token+"/"+path, nil)
	if err != nil {
		return nil, a.failed("file", err)
	}
	resp, err := a.http.Do(req)
	if err != nil {
		return nil, a.failed("file", err)
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests:
		return nil, fmt.Errorf("telegram file: HTTP %d", resp.StatusCode)
	case resp.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("%w: HTTP %d", errNoFile, resp.StatusCode)
	}
	data, err := io.ReadAll(io.LimitReader(silence.Reader(resp.Body), limit+1))
	if err != nil {
		return nil, a.failed("file", err)
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%w: it is larger than %d bytes", errNoFile, limit)
	}
	return data, nil
}

// failed is an error of the HTTP client without the address, which holds the token.
func (a *api) failed(method string, err error) error {
	if withURL, ok := errors.AsType[*url.Error](err); ok {
		err = withURL.Err
	}
	if strings.Contains(err.Error(), a.token) {
		err = errors.New(strings.ReplaceAll(err.Error(), a.token, "<token>"))
	}
	return fmt.Errorf("telegram %s: %w", method, err)
}

// An apiError is a refusal in Telegram's own words.
type apiError struct {
	method      string
	code        int
	description string
	after       time.Duration
	migrated    int64 // the new id of a group that has become a supergroup
}

func (e *apiError) Error() string {
	return fmt.Sprintf("telegram %s: %d %s", e.method, e.code, e.description)
}

// refused returns the apiError in err.
func refused(err error) (*apiError, bool) {
	return errors.AsType[*apiError](err)
}

// is reports whether err is a refusal with this code and these words.
func is(err error, code int, words string) bool {
	e, ok := refused(err)
	return ok && e.code == code && strings.Contains(strings.ToLower(e.description), words)
}

// verdict says in the words of the contract what a refusal means for the account;
// chat is true for a call that writes into one chat.
func verdict(err error, chat bool) error {
	e, ok := refused(err)
	if !ok {
		return err
	}
	switch {
	case e.code == http.StatusTooManyRequests:
		return &plugins.RateLimitError{After: e.after, Account: !chat, Err: e}
	case e.code == http.StatusUnauthorized || e.code == http.StatusNotFound && !chat:
		return plugins.NoLogin(fmt.Errorf("the token is not valid: ask BotFather for it (/mybots, API Token) and correct it in the configuration: %w", e))
	case e.code == http.StatusConflict && strings.Contains(e.description, "webhook"):
		return fmt.Errorf("a webhook was set while this bot is polled: another program uses the same token; stop it or make a bot of its own: %w", e)
	case e.code == http.StatusConflict:
		return fmt.Errorf("another program polls this bot: stop it, or make a bot of its own: %w", e)
	case chat && (e.code == http.StatusBadRequest || e.code == http.StatusForbidden || e.code == http.StatusRequestEntityTooLarge):
		return plugins.Permanent(e)
	}
	return e
}
