package slack

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"agenthost/internal/httptransport"
	"agenthost/plugins"
)

// A sharedFile is a file of a message.
type sharedFile struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	MIME     string `json:"mimetype"`
	Size     int64  `json:"size"`
	External bool   `json:"is_external"`
	URL      string `json:"url_private"`
	Download string `json:"url_private_download"`
}

const (
	fileAttempts = 3
	fileAgain    = time.Second
	// fileSilence is how long nothing may come of a file: nothing else is read meanwhile.
	fileSilence = 30 * time.Second
)

// load reads a file that came with a message. Of one that cannot be had only the name is
// left. One that breaks off is tried again here: to end the connection for it would lose
// what others have written, which Slack sends again three times only.
func (r *reader) load(ctx context.Context, f sharedFile) (file plugins.File, err error) {
	for i := 1; ; i++ {
		if file, err = r.tryLoad(ctx, f); err == nil || i == fileAttempts {
			return file, ctx.Err()
		}
		select {
		case <-ctx.Done():
			return file, ctx.Err()
		case <-time.After(fileAgain):
		}
	}
}

// tryLoad is one try. An error says that the next may succeed.
func (r *reader) tryLoad(ctx context.Context, f sharedFile) (plugins.File, error) {
	file := plugins.File{Name: cmp.Or(f.Name, f.ID, "file"), MIME: f.MIME, Kind: kind(f.MIME), Size: f.Size}
	address := cmp.Or(f.Download, f.URL)
	if f.External {
		file.URL = f.URL
		return file, nil
	}
	limit := r.inbox.MaxFile()
	if f.Size > limit || !r.api.trusts(address) {
		return file, nil
	}
	ctx, silence := httptransport.WatchSilence(ctx, fileSilence)
	defer silence.Stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return file, nil // the address is invalid
	}
	req.Header.Set("Authorization", "Bearer "+r.settings.BotToken)
	resp, err := r.api.http.Do(req)
	if err != nil {
		return file, fmt.Errorf("read the file %q: %w", file.Name, err)
	}
	defer resp.Body.Close()
	// Without the scope files:read Slack answers with a page on which to log in.
	page := strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") && !strings.HasPrefix(f.MIME, "text/html")
	switch {
	case resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests:
		return file, fmt.Errorf("read the file %q: Slack answers %s", file.Name, resp.Status)
	case resp.StatusCode != http.StatusOK || page:
		return file, nil
	}
	data, err := io.ReadAll(io.LimitReader(silence.Reader(resp.Body), limit+1))
	if err != nil {
		return file, fmt.Errorf("read the file %q: %w", file.Name, err)
	}
	if int64(len(data)) > limit {
		file.Size = max(file.Size, int64(len(data)))
		return file, nil
	}
	file.Data, file.Size = data, 0
	return file, nil
}

func kind(mime string) string {
	switch major, _, _ := strings.Cut(mime, "/"); major {
	case "image", "audio", "video":
		return major
	}
	return "file"
}

// share uploads a file and puts it into a channel.
func (c *Channel) share(ctx context.Context, channel string, m plugins.Message) (string, error) {
	name := cmp.Or(m.File.Name, "file")
	var place struct {
		Address string `json:"upload_url"`
		ID      string `json:"file_id"`
	}
	err := c.call(ctx, "files.getUploadURLExternal", arguments("filename", name, "length", strconv.Itoa(len(m.File.Data))), &place)
	if err != nil {
		return "", deliveryError(err, channel)
	}
	if err := c.api.upload(ctx, place.Address, m.File.Data); err != nil {
		return "", deliveryError(err, channel)
	}
	files := []map[string]string{{"id": place.ID, "title": name}}
	err = c.call(ctx, "files.completeUploadExternal", arguments(
		"files", inJSON(files), "channel_id", channel, "thread_ts", m.Thread, "initial_comment", m.Text), nil)
	if err != nil {
		return "", deliveryError(err, channel)
	}
	return place.ID, nil
}
