package agents

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"agenthost/bus"
	"agenthost/llm"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
)

// A Spend is what an agent has spent in a UTC day, all hosts together, as the
// bucket AGENT_SPEND keeps it under <agent>.<day>.
type Spend struct {
	Spent int64            `json:"spent"` // micro-cents
	Hosts map[string]Share `json:"hosts,omitempty"`
}

// A Share is what one host has reserved for its calls under way.
type Share struct {
	Reserved int64     `json:"reserved"` // micro-cents
	Until    time.Time `json:"until"`    // when it counts no more: the host is dead
	Write    string    `json:"write"`    // names the host's last write, for who does not know whether it came through
}

const dayFormat = time.DateOnly

func spendKey(agent string, at time.Time) string { return agent + "." + at.UTC().Format(dayFormat) }

// A ledger keeps the accounts of an agent, one for each UTC day. What a call
// was admitted to on one day counts there, also when it ends on the next.
type ledger struct {
	agent string
	parts *Parts
	life  atomic.Int64 // of what is reserved by a host that is silent, as a Duration
	id    string       // of this process, for its writes

	working sync.WaitGroup
	ctx     context.Context //nolint:containedctx // ends when a closed ledger has had its time
	cancel  context.CancelFunc

	mu     sync.Mutex
	days   map[string]*account
	closed bool
}

// lastWrites bounds what a ledger that is closed may take for what it still
// has to write.
const lastWrites = 5 * time.Second

func newLedger(agent string, parts *Parts, life time.Duration) *ledger {
	l := &ledger{agent: agent, parts: parts, id: nuid.Next(), days: map[string]*account{}}
	l.life.Store(int64(life))
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

// today is the account of the day that at is in.
func (l *ledger) today(at time.Time) *account {
	key := spendKey(l.agent, at)
	l.mu.Lock()
	defer l.mu.Unlock()
	a, ok := l.days[key]
	if !ok {
		a = &account{ledger: l, key: key, stale: true, wake: make(chan struct{}, 1)}
		l.days[key] = a
	}
	return a
}

// close waits until all is written that is settled by now. What is settled
// later is not counted.
func (l *ledger) close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	timer := time.AfterFunc(lastWrites, l.cancel)
	l.working.Wait()
	timer.Stop()
	l.cancel()
}

// SpentToday reads what each agent has spent in this UTC day, in micro-cents.
func SpentToday(ctx context.Context, js jetstream.JetStream, now time.Time) (map[string]int64, error) {
	kv, err := js.KeyValue(ctx, bus.SpendBucket)
	if err != nil {
		return nil, fmt.Errorf("read what is spent: %w", err)
	}
	watch, err := kv.Watch(ctx, spendKey("*", now), jetstream.IgnoreDeletes())
	if err != nil {
		return nil, fmt.Errorf("read what is spent: %w", err)
	}
	defer func() { _ = watch.Stop() }()
	spent := map[string]int64{}
	for {
		select {
		case entry := <-watch.Updates():
			if entry == nil {
				return spent, nil
			}
			s := Spend{}
			if err := json.Unmarshal(entry.Value(), &s); err == nil {
				agent, _, _ := strings.Cut(entry.Key(), ".")
				spent[agent] = llm.Sum(spent[agent], s.Spent)
			}
		case <-ctx.Done():
			return nil, fmt.Errorf("read what is spent: %w", ctx.Err())
		}
	}
}
