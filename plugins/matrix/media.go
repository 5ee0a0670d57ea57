package matrix

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"agenthost/internal/httptransport"
	"agenthost/plugins"
)

const (
	mediaPath = "/_matrix/media/v3"
	// fileSilence is how long nothing may come of a file: nothing else is read meanwhile.
	fileSilence = 30 * time.Second
)

var kinds = map[string]string{"m.image": "image", "m.audio": "audio", "m.video": "video"}

// fileType is the msgtype of a file.
func fileType(f plugins.File) string {
	for msgtype, kind := range kinds {
		if f.Kind == kind {
			return msgtype
		}
	}
	return "m.file"
}

// attempts is how often the file of a message, or an invitation, is tried that fails for a
// reason that may pass.
const attempts = 3

// mostTries bounds what is remembered of that.
const mostTries = 1000

// hopeless reports whether something has failed as often as it is tried.
func (c *Channel) hopeless(what string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tries[what] >= attempts
}

// failed counts one more failure of something, and returns how many it has had.
func (c *Channel) failed(what string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.tries[what]; !known && len(c.tries) >= mostTries {
		clear(c.tries)
	}
	c.tries[what]++
	return c.tries[what]
}

func (c *Channel) succeeded(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.tries, what)
}

// download reads a file that came with a message. Of one that is too large, that the
// homeserver no longer has, or that breaks off each time, only the name is left.
func (r *reader) download(ctx context.Context, event string, said message) (plugins.File, error) {
	file, err := r.tryDownload(ctx, said, r.hopeless(event))
	refused, _ := errors.AsType[*apiError](err)
	if err != nil && (refused == nil || refused.Status >= 500) && ctx.Err() == nil {
		r.failed(event)
		if r.hopeless(event) {
			err = nil
		}
	}
	return file, err
}

func (r *reader) tryDownload(ctx context.Context, said message, nameOnly bool) (plugins.File, error) {
	file := plugins.File{Name: cmp.Or(said.Filename, said.Body, "file"), Kind: cmp.Or(kinds[said.Type], "file")}
	if said.Info != nil {
		file.MIME, file.Size = said.Info.MIME, said.Info.Size
	}
	server, id, ok := strings.Cut(strings.TrimPrefix(said.URL, "mxc://"), "/")
	limit := r.inbox.MaxFile()
	if !ok || nameOnly || file.Size > limit {
		return file, nil
	}
	ctx, silence := httptransport.WatchSilence(ctx, fileSilence)
	defer silence.Stop()
	resp, err := r.openMedia(ctx, server, id)
	// 5xx is also what a homeserver says of the one of another, which may be back soon.
	if refused, ok := errors.AsType[*apiError](err); ok && refused.Status < 500 && refused.Status != http.StatusUnauthorized && refused.Status != http.StatusTooManyRequests {
		return file, nil
	}
	if err != nil {
		return file, fmt.Errorf("read the file %q: %w", file.Name, err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(silence.Reader(resp.Body), limit+1))
	if err != nil {
		return file, fmt.Errorf("read the file %q: %w", file.Name, err)
	}
	if int64(len(data)) > limit {
		file.Size = max(file.Size, int64(len(data)))
		return file, nil
	}
	file.Data, file.Size = data, 0
	file.MIME = cmp.Or(file.MIME, resp.Header.Get("Content-Type"))
	return file, nil
}

// openMedia asks for a file as a member, and of homeservers older than Matrix 1.11 as
// anybody could.
func (r *reader) openMedia(ctx context.Context, server, id string) (*http.Response, error) {
	file := "/download/" + url.PathEscape(server) + "/" + url.PathEscape(id)
	resp, err := r.client.do(ctx, http.MethodGet, "/_matrix/client/v1/media"+file, nil, "", nil)
	if code(err) != "M_UNRECOGNIZED" {
		return resp, err
	}
	return r.client.do(ctx, http.MethodGet, mediaPath+file, nil, "", nil)
}

// upload stores a file on the homeserver and returns its address.
func upload(ctx context.Context, cl *client, f plugins.File) (string, error) {
	resp, err := cl.do(ctx, http.MethodPost, mediaPath+"/upload", url.Values{"filename": {f.Name}},
		cmp.Or(f.MIME, "application/octet-stream"), bytes.NewReader(f.Data))
	if err != nil {
		return "", fmt.Errorf("send the file %q: %w", f.Name, err)
	}
	defer resp.Body.Close()
	var stored struct {
		Address string `json:"content_uri"`
	}
	if err := decode(resp.Body, &stored); err != nil {
		return "", fmt.Errorf("send the file %q: %w", f.Name, err)
	}
	return stored.Address, nil
}
