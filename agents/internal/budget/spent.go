package budget

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"agenthost/bus"
	"agenthost/bus/records"
	"agenthost/llm"

	"github.com/nats-io/nats.go/jetstream"
)

// A Total is what was spent in a UTC day, in micro-cents.
type Total struct {
	Agents map[string]int64
	Models map[string]int64 // by their names in the configuration
}

// SpentToday reads what was spent in this UTC day, by all hosts.
func SpentToday(ctx context.Context, js jetstream.JetStream, now time.Time) (Total, error) {
	kv, err := js.KeyValue(ctx, bus.SpendBucket)
	if err != nil {
		return Total{}, fmt.Errorf("read what is spent: %w", err)
	}
	watch, err := kv.Watch(ctx, spendKey("*", now), jetstream.IgnoreDeletes())
	if err != nil {
		return Total{}, fmt.Errorf("read what is spent: %w", err)
	}
	defer func() { _ = watch.Stop() }()
	sum := Total{map[string]int64{}, map[string]int64{}}
	for {
		select {
		case entry := <-watch.Updates():
			if entry == nil {
				return sum, nil
			}
			s := Spend{}
			if err := json.Unmarshal(entry.Value(), &s); err == nil {
				agent, _, _ := strings.Cut(entry.Key(), ".")
				sum.add(agent, s)
			}
		case <-ctx.Done():
			return Total{}, fmt.Errorf("read what is spent: %w", ctx.Err())
		}
	}
}

func (t Total) add(agent string, s Spend) {
	t.Agents[agent] = llm.Sum(t.Agents[agent], s.Spent)
	for model, amount := range s.Models {
		t.Models[model] = llm.Sum(t.Models[model], amount)
	}
}

// SpentInMonth reads what an agent has spent in this UTC month, in micro-cents.
func SpentInMonth(ctx context.Context, js jetstream.JetStream, agent string, now time.Time) (sum int64, err error) {
	reader := records.NewReader(js)
	now = now.UTC()
	for at := now.AddDate(0, 0, 1-now.Day()); !at.After(now); at = at.AddDate(0, 0, 1) {
		entry, err := reader.Entry(ctx, bus.SpendBucket, spendKey(agent, at))
		if errors.Is(err, records.ErrNotFound) {
			continue
		}
		if err != nil {
			return 0, fmt.Errorf("read what agent %q has spent: %w", agent, err)
		}
		record := Spend{}
		if err := json.Unmarshal(entry.Data, &record); err != nil {
			return 0, fmt.Errorf("read what agent %q has spent: %w", agent, err)
		}
		sum = llm.Sum(sum, record.Spent)
	}
	return sum, nil
}
