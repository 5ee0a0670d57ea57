package plugins

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
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

// mostTaken is how many replies are remembered of which a part is taken. Few are: those
// under way, and those that were when a term has ended.
const mostTaken = 16384

// taken is how far replies have come that are not settled, as this process knows it: the
// note of it may be late, or on its way while NATS is away.
type taken struct {
	mu      sync.Mutex
	replies map[string]progress // by id
}

func newTaken() *taken { return &taken{replies: map[string]progress{}} }

func (t *taken) set(reply string, p progress) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, known := t.replies[reply]; !known && len(t.replies) >= mostTaken {
		for id := range t.replies { // another host has settled most of them
			delete(t.replies, id)
			break
		}
	}
	t.replies[reply] = p
}

// of is how many parts are taken of a reply that is cut into so many.
func (t *taken) of(reply string, parts int) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.replies[reply].of(parts)
}

func (t *taken) forget(reply string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.replies, reply)
}
