package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"agenthost/bus/records"

	"github.com/nats-io/nats-server/v2/server/archive"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// copyReplaced adds the messages whose subjects have lost theirs while the stream was
// copied: the server writes its snapshot message by message, and one that is replaced
// before its turn is not in it, nor is the one that came in its place.
func (w *writer) copyReplaced(ctx context.Context, step step, have contents, s *Stream) error {
	stream, err := w.js.Stream(ctx, step.stream)
	if err != nil {
		return err
	}
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(step.newest))
	if err != nil {
		return err
	}
	var found []records.Record
	for subject := range info.State.Subjects {
		if have.subjects[subject] {
			continue
		}
		rec, err := w.reader.Last(ctx, step.stream, subject)
		if errors.Is(err, records.ErrNotFound) {
			continue // it was deleted just now
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", subject, err)
		}
		found = append(found, rec)
	}
	slices.SortFunc(found, func(a, b records.Record) int { return cmp.Compare(a.Seq, b.Seq) })
	return w.writeLate(s, func(yield func(records.Record, error) bool) {
		for _, rec := range found {
			if !yield(rec, nil) {
				return
			}
		}
	})
}

// copyTail adds what the stream has got since it was copied.
func (w *writer) copyTail(ctx context.Context, s *Stream) error {
	return w.writeLate(s, w.reader.Tail(ctx, s.Name, ">", s.LastSeq+1))
}

// writeLate writes messages that the snapshot of a stream lacks, if there are any.
func (w *writer) writeLate(s *Stream, list iter.Seq2[records.Record, error]) error {
	var file *outFile
	var out archiveWriter
	for rec, err := range list {
		if err == nil && file == nil {
			if file, err = w.create(s.Name + ".late"); err == nil {
				out = newArchiveWriter(file)
			}
		}
		if err == nil && rec.Seq > s.LastSeq {
			err = out.message(rec)
			s.LastSeq = rec.Seq
			s.Messages++
		}
		if err != nil {
			return err
		}
	}
	if file == nil {
		return nil
	}
	err := out.end()
	done, closed := file.finish()
	s.Late = &done
	w.progress(s.Name, int(done.Bytes))
	return errors.Join(err, closed)
}

// message writes a message as an entry.
func (w archiveWriter) message(rec records.Record) error {
	header := encodeHeader(ownHeader(rec.Header))
	return w.add(archive.Header{
		Name: rec.Subject, Sequence: rec.Seq, Timestamp: rec.Time.UnixNano(), HeaderSize: int64(len(header)), PayloadSize: int64(len(rec.Data)),
	}, append(header, rec.Data...))
}

// ownHeader is a header without what the server adds to it when a message is read.
func ownHeader(h nats.Header) nats.Header {
	own := maps.Clone(h)
	for _, key := range []string{
		jetstream.StreamHeader, jetstream.SubjectHeader, jetstream.SequenceHeader, jetstream.TimeStampHeaer, jetstream.LastSequenceHeader,
		"Nats-Num-Pending", "Nats-UpTo-Sequence", "Nats-Pending-Messages",
	} {
		delete(own, key)
	}
	return own
}

// encodeHeader is a header as it is stored; nothing when it is empty.
func encodeHeader(h nats.Header) []byte {
	if len(h) == 0 {
		return nil
	}
	var b strings.Builder
	b.WriteString("NATS/1.0\r\n")
	for _, key := range slices.Sorted(maps.Keys(h)) {
		for _, value := range h[key] {
			b.WriteString(key + ": " + value + "\r\n")
		}
	}
	b.WriteString("\r\n")
	return []byte(b.String())
}
