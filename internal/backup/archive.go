package backup

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/s2"
	"github.com/nats-io/nats-server/v2/server/archive"
)

// A snapshot of the server is a compressed archive: an entry with the state of the stream,
// one for each consumer, one for each message with its sequence, and an empty one as its end.
const (
	stateEntry     = "state.json"
	consumerPrefix = "consumers/"
)

// contents are what an archive has.
type contents struct {
	state    streamState
	messages uint64
	subjects map[string]bool // of the messages, where they are asked for
}

// streamState is what is needed of the state of a stream.
type streamState struct {
	Messages uint64 `json:"messages"`
	FirstSeq uint64 `json:"first_seq"`
	LastSeq  uint64 `json:"last_seq"`
}

var (
	errIncomplete = errors.New("the snapshot is incomplete")
	errFormat     = errors.New("the snapshot has a format that is not known; every server of this NATS has to be " + oldestServer + " or later")
)

// inspect reads an archive to its end.
func inspect(r io.Reader, subjects bool) (c contents, err error) {
	in := archive.NewReader(s2.NewReader(r))
	if c.state, err = readState(in, &c.state); err != nil {
		return c, err
	}
	if subjects {
		c.subjects = map[string]bool{}
	}
	for {
		h, err := in.Next()
		switch {
		case errors.Is(err, io.EOF):
			return c, errIncomplete
		case err != nil:
			return c, err
		case isEnd(h):
			_, err := io.Copy(io.Discard, r)
			return c, err
		case h.Sequence == 0: // a consumer
			continue
		}
		c.messages++
		if subjects {
			c.subjects[h.Name] = true
		}
	}
}

// readState reads the first entry of an archive into v.
func readState[T any](in *archive.Reader, v *T) (T, error) {
	h, err := in.Next()
	switch {
	case errors.Is(err, io.EOF):
		return *v, errIncomplete
	case errors.Is(err, archive.ErrInvalidArchive):
		return *v, errFormat
	case err != nil:
		return *v, err
	case h.Name != stateEntry:
		return *v, errFormat
	}
	if err := json.NewDecoder(in).Decode(v); err != nil {
		return *v, fmt.Errorf("%s: %w", stateEntry, err)
	}
	return *v, nil
}

// isEnd reports whether an entry is the end of an archive.
func isEnd(h *archive.Header) bool {
	return h.Name == "" && h.Sequence == 0 && h.Timestamp == 0 && h.HeaderSize == 0 && h.PayloadSize == 0
}

// consumerOf is the name of the consumer that an entry is about.
func consumerOf(h *archive.Header) (name string, ok bool) {
	if h.Sequence != 0 {
		return "", false
	}
	return strings.CutPrefix(h.Name, consumerPrefix)
}

// An archiveWriter writes an archive.
type archiveWriter struct {
	*archive.Writer
	compressed *s2.Writer
}

func newArchiveWriter(out io.Writer) archiveWriter {
	c := s2.NewWriter(out, s2.WriterConcurrency(1))
	return archiveWriter{archive.NewWriter(c), c}
}

// add writes one entry.
func (w archiveWriter) add(h archive.Header, data []byte) error {
	if err := w.WriteHeader(&h); err != nil {
		return err
	}
	_, err := w.Write(data)
	return err
}

// end writes the last entry, and flushes all.
func (w archiveWriter) end() error {
	return errors.Join(w.add(archive.Header{}, nil), w.Close(), w.compressed.Close())
}
