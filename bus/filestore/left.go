package filestore

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"agenthost/bus"
	"agenthost/bus/records"

	"github.com/cenkalti/backoff/v5"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// leftHeader marks what the bucket says of a file that was left when all else of its
// session was deleted. It takes no object of its own, and goes with the file.
const leftHeader = "Agent-Left"

// A LeftFile is one that was left when all else of its session was deleted, or that is
// lent.
type LeftFile struct {
	Name  string
	Since time.Time // it was last found to be needed
	seq   uint64
}

// Leave notes that a file is left until no message names it. One that is gone is left by
// nothing.
func (f *Store) Leave(ctx context.Context, name string) error {
	return f.mark(ctx, name, nats.Header{leftHeader: {"1"}})
}

// Keep takes back what Leave has noted: a session names the file again.
func (f *Store) Keep(ctx context.Context, name string) error { return f.mark(ctx, name, nil) }

func (f *Store) mark(ctx context.Context, name string, header nats.Header) error {
	err := retry(ctx, func() error {
		rec, err := f.about(ctx, name)
		if err == nil {
			_, err = f.write(ctx, rec, header, nats.MsgRollupSubject)
		}
		return unlessRefused(err)
	})
	if err != nil && !errors.Is(err, jetstream.ErrObjectNotFound) {
		return fmt.Errorf("mark file %s: %w", name, err)
	}
	return nil
}

// unlessRefused has retry try again only where something else has been said of the file meanwhile.
func unlessRefused(err error) error {
	if err != nil && !bus.Refused(err) {
		return backoff.Permanent(err)
	}
	return err
}

// write says of a file what rec says, under another header, unless something else has been
// said of it since. It takes the place of all that was said before, unless rollup is empty.
func (f *Store) write(ctx context.Context, rec records.Record, header nats.Header, rollup string) (seq uint64, err error) {
	msg := nats.NewMsg(rec.Subject)
	maps.Copy(msg.Header, header)
	if rollup != "" {
		msg.Header.Set(nats.MsgRollup, rollup)
	}
	msg.Header.Set(jetstream.ExpectedLastSubjSeqHeader, strconv.FormatUint(rec.Seq, 10))
	msg.Data = rec.Data
	ack, err := f.js.PublishMsg(ctx, msg)
	if err != nil {
		return 0, err
	}
	return ack.Sequence, nil
}

// Left are the files that have been left, and those that are lent.
func (f *Store) Left(ctx context.Context) (left []LeftFile, err error) {
	err = records.Heads(ctx, f.js, stream, abouts+"*", true, func(rec records.Record) {
		name, err := base64.URLEncoding.DecodeString(strings.TrimPrefix(rec.Subject, abouts))
		if err == nil && (rec.Header.Get(leftHeader) != "" || strings.HasPrefix(string(name), lentPrefix)) {
			left = append(left, LeftFile{string(name), rec.Time, rec.Seq})
		}
	})
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list files that were left: %w", err)
	}
	return left, nil
}

// DeleteLeft deletes a file that was left, unless it has been stored or marked again since
// Left has listed it.
func (f *Store) DeleteLeft(ctx context.Context, file LeftFile) (deleted bool, err error) {
	deleted, err = f.deleteLeft(ctx, file)
	if err != nil {
		err = fmt.Errorf("delete file %s: %w", file.Name, err)
	}
	return deleted, err
}

func (f *Store) deleteLeft(ctx context.Context, file LeftFile) (deleted bool, err error) {
	rec, err := f.about(ctx, file.Name)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return false, nil
	}
	if err != nil || rec.Seq != file.seq {
		return false, err
	}
	nuid, err := markDeleted(&rec)
	if err != nil {
		return false, err
	}
	if _, err := f.write(ctx, rec, nil, nats.MsgRollupSubject); err != nil {
		if bus.Refused(err) {
			return false, nil
		}
		return false, err
	}
	s, err := f.js.Stream(ctx, stream)
	if err != nil {
		return true, err
	}
	return true, s.Purge(ctx, jetstream.WithPurgeSubject(chunks+nuid))
}

// markDeleted has rec say that the file is deleted. The chunks of its content have that nuid.
func markDeleted(rec *records.Record) (nuid string, err error) {
	info := jetstream.ObjectInfo{}
	if err := json.Unmarshal(rec.Data, &info); err != nil {
		return "", err
	}
	info.Deleted, info.Size, info.Chunks, info.Digest = true, 0, 0, ""
	rec.Data, err = json.Marshal(info)
	return info.NUID, err
}
