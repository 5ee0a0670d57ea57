package filestore

import (
	"context"
	"errors"
	"fmt"

	"agenthost/bus"
	"agenthost/bus/records"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// An Erasure is what became of a file that was to be erased.
type Erasure int

// The ends of Erase.
const (
	Absent Erasure = iota // there was none any more; what was left of it is erased
	Erased
	MarkedAgain // by another deletion, so that it is not known whether something names it
	StoredAgain // it stays, as the same was sent again
)

// ToErase marks a file as left, as Leave does, before the search for what names it, so that
// Erase notices when it is stored again from then on. What the bucket has said of the file
// stays until Erase, which writes over it. known is false when the bucket has nothing of it.
func (f *Store) ToErase(ctx context.Context, name string) (file LeftFile, known bool, err error) {
	err = retry(ctx, func() error {
		rec, err := f.about(ctx, name)
		file = LeftFile{Name: name, seq: rec.Seq}
		if errors.Is(err, jetstream.ErrObjectNotFound) || err == nil && rec.Header.Get(leftHeader) != "" {
			return nil // it is marked, or an erasure was broken off, or the bucket has no such file
		}
		if err == nil {
			file.seq, err = f.write(ctx, rec, nats.Header{leftHeader: {"1"}}, "")
		}
		return unlessRefused(err)
	})
	if err != nil {
		return LeftFile{}, false, fmt.Errorf("mark file %s: %w", name, err)
	}
	return file, file.seq > 0, nil
}

// Erase deletes a file that ToErase has marked, unless the bucket has said something else of it
// since, and has NATS write over its content, and over what the bucket has said of it. Where
// that was broken off, it goes on.
func (f *Store) Erase(ctx context.Context, file LeftFile) (Erasure, error) {
	end, err := f.erase(ctx, file)
	if err != nil {
		err = fmt.Errorf("erase file %s: %w", file.Name, err)
	}
	return end, err
}

func (f *Store) erase(ctx context.Context, file LeftFile) (Erasure, error) {
	rec, err := f.about(ctx, file.Name)
	gone := errors.Is(err, jetstream.ErrObjectNotFound)
	switch {
	case gone && rec.Seq == 0:
		return Absent, nil
	case err != nil && !gone:
		return Absent, err
	case rec.Seq != file.seq && !gone && rec.Header.Get(leftHeader) == "":
		return StoredAgain, nil
	case rec.Seq != file.seq:
		return MarkedAgain, nil
	}
	nuid, err := markDeleted(&rec)
	if err != nil {
		return Absent, err
	}
	end := Absent
	if !gone {
		end = Erased
		rec.Seq, err = f.write(ctx, rec, nil, "")
		if bus.Refused(err) {
			return f.erase(ctx, file) // another look says what was said of it
		}
		if err != nil {
			return Absent, err
		}
	}
	if nuid != "" {
		if err := f.overwrite(ctx, chunks+nuid, 0); err != nil {
			return end, err
		}
	}
	return end, f.overwrite(ctx, rec.Subject, rec.Seq) // what finds the chunks goes last
}

// overwrite has NATS write over what the bucket has of a subject, up to a sequence; 0: all.
func (f *Store) overwrite(ctx context.Context, subject string, last uint64) error {
	var seqs []uint64
	for rec, err := range f.reader.Tail(ctx, stream, subject, 1) {
		if err != nil {
			return err
		}
		if last == 0 || rec.Seq <= last {
			seqs = append(seqs, rec.Seq)
		}
	}
	_, err := records.Overwrite(ctx, f.js, stream, seqs)
	return err
}
