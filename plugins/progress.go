package plugins

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"agenthost/bus"
	"agenthost/bus/records"
)

// A Progress is how many of the parts of a reply the platform has taken, as a Courier has
// noted it.
type Progress struct {
	Consumer string // that brings the account its replies
	Taken    int
	Parts    int       // 0: nothing is noted
	At       time.Time // when it was noted
}

// Whole reports whether the platform has the reply.
func (p Progress) Whole() bool { return p.Parts > 0 && p.Taken == p.Parts }

// ProgressOf reads how far a reply has come on the account whose replies have that subject.
// It is errors.Is(err, records.ErrNotFound) where nothing was taken yet, for long, or by a
// program that keeps no such notes.
func ProgressOf(ctx context.Context, reader *records.Reader, subject, reply string) (Progress, error) {
	channel, instance, _ := strings.Cut(strings.TrimPrefix(subject, bus.OutboundPrefix), ".")
	n := notes{account: Account{Channel: channel, Instance: instance}, reader: reader}
	rec, err := reader.Entry(ctx, bus.ChannelsBucket, n.replyKey(reply))
	if err != nil {
		return Progress{}, fmt.Errorf("read how far a reply is delivered: %w", err)
	}
	p := progress{}
	if err := json.Unmarshal(rec.Data, &p); err != nil {
		return Progress{}, fmt.Errorf("read how far a reply is delivered: %w", err)
	}
	return Progress{Consumer: n.account.consumer(), Taken: p.Taken, Parts: p.Parts, At: rec.Time}, nil
}
