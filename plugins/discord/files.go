package discord

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"agenthost/internal/httptransport"
	"agenthost/plugins"
)

// fileAttempts is how often a message is tried whose files cannot be loaded, before
// it is taken without them.
const fileAttempts = 3

var errNoFile = errors.New("discord does not give the file")

// addFiles loads what is attached. A file that Discord does not give stays without its
// content.
func (c *Channel) addFiles(ctx context.Context, in *plugins.Inbox, m *message, r *plugins.Received) error {
	for _, a := range m.Attachments {
		file := plugins.File{Name: a.Name, MIME: a.MIME, Kind: kind(a.MIME), Size: a.Size}
		if limit := in.MaxFile(); a.Size <= limit {
			data, err := c.api.download(ctx, a.URL, limit)
			if err != nil && ctx.Err() != nil {
				return err
			}
			if err != nil && !errors.Is(err, errNoFile) && c.tryAgain(m.ID) {
				return err
			}
			if err == nil {
				file.Data, file.Size = data, int64(len(data))
			}
		}
		r.Files = append(r.Files, file)
	}
	return nil
}

// tryAgain reports whether a message that failed shall be tried again.
func (c *Channel) tryAgain(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.tries[id]; !ok {
		clear(c.tries) // it is the next message
	}
	c.tries[id]++
	return c.tries[id] < fileAttempts
}

func kind(mime string) string {
	switch k, _, _ := strings.Cut(mime, "/"); k {
	case "image", "audio", "video":
		return k
	}
	return "file"
}

// download reads an attachment. Its address needs no token.
func (a *api) download(ctx context.Context, address string, limit int64) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, uploadFor)
	defer cancel()
	ctx, silence := httptransport.WatchSilence(ctx, fileSilence)
	defer silence.Stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoFile, err)
	}
	resp, err := a.http.Do(req)
	if err != nil {
		return nil, shortened("attachment", err)
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests:
		return nil, fmt.Errorf("discord attachment: HTTP %d", resp.StatusCode)
	case resp.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("%w: HTTP %d", errNoFile, resp.StatusCode)
	}
	data, err := io.ReadAll(io.LimitReader(silence.Reader(resp.Body), limit+1))
	if err != nil {
		return nil, shortened("attachment", err)
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%w: it is larger than %d bytes", errNoFile, limit)
	}
	return data, nil
}
