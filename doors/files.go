package doors

import (
	"cmp"
	"context"
	"mime"
	"net/http"
	"path"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"agenthost/bus"
	"agenthost/bus/filestore"
)

const (
	anyBytes     = "application/octet-stream"
	longestName  = 200
	unnamedFile  = "file"
	plainTextUTF = "text/plain; charset=utf-8"
)

// KeepFile stores what a client attaches. mimeType is what the client says that it is;
// empty: the content and the name tell.
func KeepFile(ctx context.Context, files *filestore.Store, name, mimeType string, content []byte) (bus.Media, error) {
	object, err := files.Put(ctx, content)
	if err != nil {
		return bus.Media{}, err
	}
	mimeType = typeOf(name, mimeType, content)
	kind, _, _ := strings.Cut(mimeType, "/")
	if kind != "image" && kind != "audio" && kind != "video" {
		kind = "file"
	}
	return bus.Media{Kind: kind, MIME: mimeType, Name: FileName(name), Size: int64(len(content)), Object: object}, nil
}

// leaveWithin bounds the marks of the files of one message.
const leaveWithin = 5 * time.Second

// LeaveFiles has the files of a message that is not taken deleted later, unless something names
// them: they would stay for good, and an erasure would not find them.
func (d *Desk) LeaveFiles(ctx context.Context, files []bus.Media) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveWithin)
	defer cancel()
	store := filestore.New(d.client.JetStream())
	for _, m := range files {
		if m.Object == "" {
			continue
		}
		if err := store.Leave(ctx, m.Object); err != nil {
			d.log.Warn().Err(err).Str("file", m.Object).Msg("delete the file of a message that is not taken: failed")
		}
	}
}

func typeOf(name, said string, content []byte) string {
	if kind, _, err := mime.ParseMediaType(said); err == nil {
		return kind
	}
	found := http.DetectContentType(content)
	if found == anyBytes || found == plainTextUTF {
		found = cmp.Or(mime.TypeByExtension(path.Ext(name)), found)
	}
	kind, _, err := mime.ParseMediaType(found)
	if err != nil {
		return anyBytes
	}
	return kind
}

// FileName is the name of a file without what is no name: folders, control characters
// and what is too long.
func FileName(name string) string {
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == utf8.RuneError {
			return -1
		}
		return r
	}, name)
	name = strings.TrimLeft(path.Base("/"+strings.ReplaceAll(name, `\`, "/")), "/")
	for len(name) > longestName {
		_, size := utf8.DecodeLastRuneInString(name)
		name = name[:len(name)-size]
	}
	if name == "." || name == ".." {
		name = ""
	}
	return cmp.Or(name, unnamedFile)
}
