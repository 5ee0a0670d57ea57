//go:build unix && long

package chaos_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/internal/freeport"
	"agenthost/llm"
	"agenthost/run"
	"agenthost/session"
)

// pricedConfig is the configuration of an agent each of whose calls may cost a
// dollar, and of which the model server reports no usage: it costs all of it.
const pricedConfig = `nats: {embedded: {store: data, listen: %q, anonymous: all}}
http: {listen: ""}
models: {main: {provider: openai, model: any, base_url: %q, max_tokens: 1000, price: {output: 1000}}}
agents:
  - {id: ana, model: main, channels: [chat], limits: {budget: %s}}
`

// A host that is killed in the middle of a model call has paid for it, whichever
// budget there is: the record of the day, the run and its session all know it.
func TestBudgetCountsWhatDied(t *testing.T) {
	for name, budget := range map[string]string{
		"day": "{day: 100}", "run": "{run: 100}", "all": "{run: 100, session: 100, day: 100}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := startModel(t, time.Hour)
			address := freeport.Address(t)
			w := &world{ledger: openLedger(t, address), config: filepath.Join(t.TempDir(), "agenthost.yaml")}
			writeFile(t, w.config, fmt.Sprintf(pricedConfig, address, m.url, budget))
			h := newHost(t, w.config, "a")
			h.start()
			w.hold(talk{channel: chat, people: 1, each: 1})
			const kills = 3
			for n := range kills {
				await(t, "the model call", func() bool { return m.calling.Load() == 1 })
				h.kill()
				await(t, "the end of the model call", func() bool { return m.calling.Load() == 0 })
				if n == kills-1 {
					m.delay.Store(0)
				}
				h.start()
			}
			w.audit()
			const paid = (kills + 1) * llm.MicroCents
			await(t, "the record of the day", func() bool { return w.spent("ana") == paid })
			if got := w.spentBySession(); got != paid {
				t.Errorf("the session counts %s, want %s", llm.Money(got), llm.Money(paid))
			}
		})
	}
}

// spent is what the records of an agent say, of all days.
func (l *ledger) spent(agent string) (sum int64) {
	l.t.Helper()
	kv, err := l.js.KeyValue(l.t.Context(), bus.SpendBucket)
	if err != nil {
		l.t.Fatal(err)
	}
	keys, err := kv.ListKeys(l.t.Context())
	if err != nil {
		l.t.Fatal(err)
	}
	for key := range keys.Keys() {
		entry, err := kv.Get(l.t.Context(), key)
		if err != nil {
			l.t.Fatal(err)
		}
		s := agents.Spend{}
		if err := json.Unmarshal(entry.Value(), &s); err != nil {
			l.t.Fatal(err)
		}
		sum += s.Spent
	}
	return sum
}

// spentBySession folds the only session there is.
func (l *ledger) spentBySession() int64 {
	l.t.Helper()
	if err := l.sessions.wind(); err != nil {
		l.t.Fatal(err)
	}
	state := run.State{}
	for _, msg := range l.sessions.msgs {
		c := session.Commit{}
		if err := json.Unmarshal(msg.Data, &c); err != nil {
			l.t.Fatal(err)
		}
		for _, e := range c.Events {
			state = run.Fold(state, e)
		}
	}
	return state.Spent
}
