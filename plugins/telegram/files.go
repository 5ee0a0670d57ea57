package telegram

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"path"
	"strings"

	"agenthost/plugins"
)

// An attachment is a file of a message, with the kind that the envelope gives it.
type attachment struct {
	media
	kind, mime, name string // mime and name hold where Telegram says none
}

func attachments(m *message) []attachment {
	var all []attachment
	add := func(f *media, kind, mime, name string) {
		if f != nil {
			all = append(all, attachment{*f, kind, mime, name})
		}
	}
	add(largest(m.Photo), "image", "image/jpeg", "photo.jpg")
	if m.Animation == nil { // it stands as a document as well
		add(m.Document, documentKind(m.Document), "application/octet-stream", "document")
	}
	add(m.Animation, "video", "video/mp4", "animation.mp4")
	add(m.Voice, "audio", "audio/ogg", "voice.ogg")
	add(m.Audio, "audio", "audio/mpeg", "audio.mp3")
	add(m.Video, "video", "video/mp4", "video.mp4")
	add(m.VideoNote, "video", "video/mp4", "video_note.mp4")
	return all
}

func largest(sizes []media) *media {
	var best *media
	for i := range sizes {
		if best == nil || sizes[i].Width*sizes[i].Height >= best.Width*best.Height {
			best = &sizes[i]
		}
	}
	return best
}

func documentKind(f *media) string {
	if f == nil {
		return ""
	}
	kind, _, _ := strings.Cut(f.MIME, "/")
	switch kind {
	case "image", "audio", "video":
		return kind
	}
	return "file"
}

// A failedUpdate counts how often the files of a message could not be loaded.
type failedUpdate struct {
	id    string
	times int
}

// fileAttempts is how often a message is tried whose files cannot be loaded, before
// it is taken without them.
const fileAttempts = 3

// addFiles loads what is attached. A file that Telegram does not give stays without
// its content.
func (c *Channel) addFiles(ctx context.Context, in *plugins.Inbox, m *message, r *plugins.Received) error {
	for _, a := range attachments(m) {
		file, err := c.load(ctx, a, min(in.MaxFile(), maxDownload))
		if err != nil && ctx.Err() != nil {
			return err
		}
		if err != nil && !errors.Is(err, errNoFile) && c.tryAgain(r.ID) {
			return err
		}
		r.Files = append(r.Files, file)
	}
	return nil
}

// tryAgain reports whether a message that failed shall be tried again.
func (c *Channel) tryAgain(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.unread.id != id {
		c.unread = failedUpdate{id: id}
	}
	c.unread.times++
	return c.unread.times < fileAttempts
}

// load reads a file; of one that is too large only the size.
func (c *Channel) load(ctx context.Context, a attachment, limit int64) (plugins.File, error) {
	file := plugins.File{Name: a.FileName, MIME: a.MIME, Kind: a.kind, Size: a.Size}
	if file.MIME == "" {
		file.MIME = a.mime
	}
	if file.Name == "" {
		file.Name = a.name
	}
	if a.Size > limit {
		return file, nil
	}
	var place struct {
		Path string `json:"file_path"`
		Size int64  `json:"file_size"`
	}
	err := c.api.call(ctx, "getFile", params{"file_id": a.FileID}, &place)
	if is(err, http.StatusBadRequest, "too big") {
		file.Size = max(file.Size, maxDownload+1)
		return file, nil
	}
	if e, ok := refused(err); ok && e.code == http.StatusBadRequest {
		return file, fmt.Errorf("%w: %w", errNoFile, err)
	}
	if err != nil {
		return file, verdict(err, false)
	}
	if place.Size > limit {
		file.Size = place.Size
		return file, nil
	}
	data, err := c.api.download(ctx, place.Path, limit)
	if err != nil {
		return file, err
	}
	file.Data, file.Size = data, int64(len(data))
	return file, nil
}

// fileName is the name under which a file is sent.
func fileName(f *plugins.File) string {
	if name := path.Base(f.Name); f.Name != "" && name != "/" && name != "." {
		return name
	}
	if ext, _ := mime.ExtensionsByType(f.MIME); len(ext) > 0 {
		return "file" + ext[0]
	}
	return "file"
}
