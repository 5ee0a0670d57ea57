//go:build unix && long

package chaos_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/records"
	"agenthost/config"
	"agenthost/host"
	"agenthost/run"
	"agenthost/session"

	"github.com/rs/zerolog"
)

// writeWake writes the configuration of agents that wake by themselves.
func writeWake(t testing.TB, nats, model, agents string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "agenthost.yaml")
	writeFile(t, file, fmt.Sprintf(`nats: {url: "nats://%s", embedded: {store: data}}
http: {listen: ""}
models: {main: {provider: openai, model: any, base_url: %q}}
agents:
%s`, nats, model, agents))
	return file
}

// ticksVar tells the test binary to be a host that writes every tick it hears
// of to a file.
const ticksVar = "AGENTHOST_CHAOS_TICKS"

func serveTicks(file string, args []string) error {
	cfg, err := config.Load(args[0])
	if err != nil {
		return err
	}
	h := host.New(host.Options{Config: cfg, Name: args[1], Log: zerolog.New(os.Stderr), OnHeartbeat: func(_ context.Context, agent string, due time.Time) {
		_ = appendLine(file, agent+" "+due.Format(time.RFC3339Nano)) // it would be missed
	}})
	return h.Run(context.Background())
}

func lines(t testing.TB, file string) []string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(data)), "\n")
}

// firings are those of one schedule: what has come to the agent, and how often
// its log has each.
type firings struct {
	came    map[string]time.Time
	handled map[string]int
}

func (f firings) settled() bool {
	for id := range f.came {
		if f.handled[id] == 0 {
			return false
		}
	}
	return len(f.came) > 0
}

// since counts what was due at t or later and was handled.
func (f firings) since(t time.Time) int {
	n := 0
	for id, due := range f.came {
		if !due.Before(t) && f.handled[id] > 0 {
			n++
		}
	}
	return n
}

func (l *ledger) firings(t testing.TB, name string) firings {
	t.Helper()
	f := firings{map[string]time.Time{}, map[string]int{}}
	reader := records.NewReader(l.js)
	for rec, err := range reader.Tail(t.Context(), bus.SchedulesStream, "agent.due.ana", 1) {
		route := bus.Route{}
		if err == nil {
			err = json.Unmarshal(rec.Data, &route)
		}
		if err != nil {
			t.Fatal(err)
		}
		if route.From == name {
			f.came[route.ID] = route.Due
		}
	}
	subject := session.Subject("ana", session.SID("ana", session.Schedule(name)))
	for rec, err := range reader.Tail(t.Context(), bus.SessionsStream, subject, 1) {
		commit := session.Commit{}
		if err == nil {
			err = json.Unmarshal(rec.Data, &commit)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range commit.Events {
			if e.Type == run.Started { // an attempt that is counted has no inputs again
				for _, in := range e.Inputs {
					f.handled[in.ID]++
				}
			}
		}
	}
	return f
}
