package budget

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
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
	sum := Total{map[string]int64{}, map[string]int64{}}
	for entry, err := range records.Entries(ctx, js, bus.SpendBucket, spendKey("*", now)) {
		if err != nil {
			return Total{}, fmt.Errorf("read what is spent: %w", err)
		}
		s := Spend{}
		if err := json.Unmarshal(entry.Value(), &s); err == nil {
			agent, _, _ := strings.Cut(entry.Key(), ".")
			sum.add(agent, s)
		}
	}
	return sum, nil
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
		if json.Unmarshal(entry.Data, &record) == nil { // else it counts as nothing, as in budgets
			sum = llm.Sum(sum, record.Spent)
		}
	}
	return sum, nil
}

// A DaySpend is what one agent has spent in one UTC day, all hosts together.
type DaySpend struct {
	Agent string
	Day   string // 2006-01-02
	Spend
}

// SpentSince reads what all agents have spent from the day of a time on, by day and
// agent.
func SpentSince(ctx context.Context, js jetstream.JetStream, from time.Time) ([]DaySpend, error) {
	var list []DaySpend
	first := from.UTC().Format(dayFormat)
	prefix := "$KV." + bus.SpendBucket + "."
	err := records.Heads(ctx, js, "KV_"+bus.SpendBucket, prefix+"*.*", false, func(rec records.Record) {
		agent, day, _ := strings.Cut(strings.TrimPrefix(rec.Subject, prefix), ".")
		s := DaySpend{Agent: agent, Day: day}
		if _, err := time.Parse(dayFormat, day); err == nil && day >= first && json.Unmarshal(rec.Data, &s.Spend) == nil {
			list = append(list, s)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("read what is spent: %w", err)
	}
	slices.SortFunc(list, func(a, b DaySpend) int {
		return cmp.Or(strings.Compare(a.Day, b.Day), strings.Compare(a.Agent, b.Agent))
	})
	return list, nil
}
