package ask

import (
	"context"
	"strings"
	"time"

	"agenthost/bus"
	"agenthost/bus/records"

	"github.com/nats-io/nats.go"
)

const (
	// readBefore is how much more than was asked for is read at once: what comes again
	// after a takeover is looked up about in its order.
	readBefore = time.Minute
	// passedOnMax is how many answers are remembered for longer than passedOnFor.
	passedOnMax = 100_000
	passedOnFor = time.Hour
)

// PassedOn finds the answers that were passed on to runs of other sessions. Their ids
// end with a hash of what they come from. It reads each message of AGENT_ROUTES once,
// however many inputs are looked up: after a takeover that may be thousands.
type PassedOn struct {
	reader  *records.Reader
	reading chan struct{} // a token: who has it may read, and use what follows

	from time.Time // what was stored since then is known, but for the newest
	next uint64    // the sequence to read on from; 0: from the time
	read time.Time // when the last read began that came to the end
	ids  map[string]string
}

// NewPassedOn makes an empty PassedOn.
func NewPassedOn(reader *records.Reader) *PassedOn {
	return &PassedOn{reader: reader, reading: make(chan struct{}, 1)}
}

// Find returns what was answered by the first message that was stored at since or later
// and whose id ends with hash, which begins with a colon; empty when there is none.
func (p *PassedOn) Find(ctx context.Context, hash string, since time.Time) (waiting string, err error) {
	asked := time.Now()
	select {
	case p.reading <- struct{}{}:
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	defer func() { <-p.reading }()
	forget := len(p.ids) > passedOnMax && since.Sub(p.from) > passedOnFor
	if p.from.IsZero() || since.Before(p.from) || forget {
		p.from, p.next, p.read, p.ids = since.Add(-readBefore), 0, time.Time{}, map[string]string{}
	}
	if !p.read.After(asked) {
		if err := p.readOn(ctx); err != nil {
			return "", err
		}
	}
	return p.ids[hash], nil
}

// readOn reads what is new. It may be called again after an error.
func (p *PassedOn) readOn(ctx context.Context) error {
	const all = bus.RoutePrefix + "*"
	began := time.Now()
	list := p.reader.TailSince(ctx, bus.RoutesStream, all, p.from)
	if p.next > 0 {
		list = p.reader.Tail(ctx, bus.RoutesStream, all, p.next)
	}
	for rec, err := range list {
		if err != nil {
			return err
		}
		p.next = rec.Seq + 1
		id := rec.Header.Get(nats.MsgIdHdr)
		if i := strings.LastIndexByte(id, ':'); i > 0 && p.ids[id[i:]] == "" {
			p.ids[id[i:]] = id[:i]
		}
	}
	p.read = began
	return nil
}
