package host_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/client"
	"agenthost/config"
	"agenthost/internal/waittest"
	"agenthost/llm"

	"github.com/nats-io/nats.go"
)

// A till is a model server over HTTP that counts its calls. Each answers with
// ten tokens, which cost a cent.
type till struct {
	calls atomic.Int64
	most  atomic.Int64 // under way at once
	now   atomic.Int64
	url   string
}

func newTill(t *testing.T) *till {
	t.Helper()
	s := &till{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		s.calls.Add(1)
		s.most.Store(max(s.most.Load(), s.now.Add(1)))
		defer s.now.Add(-1)
		select { // a model takes its time
		case <-time.After(20 * time.Millisecond):
		case <-r.Context().Done():
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{"content":"hello"},"finish_reason":"stop"}]}`+"\n\n"+
			`data: {"choices":[],"usage":{"prompt_tokens":20,"completion_tokens":10}}`+"\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

// config is of an agent that uses the till and may spend half a dollar a day.
func (s *till) config(t *testing.T) *config.Config {
	t.Helper()
	cfg := demo(t)
	cfg.Models["echo"] = llm.Config{
		Provider: "openai", Model: "m", BaseURL: s.url, APIKey: "k", MaxTokens: 10, Price: &llm.Price{Output: 1000},
	}
	cfg.Agents[0].Limits.Budget = agents.Budget{Day: 0.5}
	return cfg
}

const cent = llm.MicroCents / 100

// outcomes counts what n runs ended with.
func outcomes(t *testing.T, replies []bus.Outbound) (answered, refused int) {
	t.Helper()
	for _, r := range replies {
		switch {
		case r.Error == nil && r.Text == "hello":
			answered++
		case r.Error != nil && r.Error.Code == "budget_exceeded":
			refused++
		default:
			t.Errorf("got %+v", r)
		}
	}
	return answered, refused
}

// TestParallelRunsKeepToABudget gives a hundred runs at once a budget for
// fifty.
func TestParallelRunsKeepToABudget(t *testing.T) {
	t.Parallel()
	s := newTill(t)
	cfg := s.config(t)
	h, stop := start(t, cfg)
	nc := h.Bus().NC
	out := outbound(t, nc, 100)
	for i := range 100 {
		publish(t, nc, "plugin.inbound.demo", bus.Inbound{From: fmt.Sprint("user", i), Text: "hi"})
	}
	answered, refused := outcomes(t, out())
	if answered != 50 || refused != 50 || s.calls.Load() != 50 || s.most.Load() < 2 {
		t.Errorf("%d answered, %d refused, %d calls, %d at once; want 50, 50, 50, several", answered, refused, s.calls.Load(), s.most.Load())
	}
	if got := hostStatus(t, h).Agents[0].SpentToday; got != 50*cent {
		t.Errorf("the host tells of %d, want %d", got, 50*cent)
	}
	stop()
	h, _ = start(t, cfg)
	nc = h.Bus().NC
	out = outbound(t, nc, 1)
	publish(t, nc, "plugin.inbound.demo", bus.Inbound{From: "late", Text: "hi"})
	if _, refused := outcomes(t, out()); refused != 1 || s.calls.Load() != 50 {
		t.Errorf("after a restart %d calls were made", s.calls.Load())
	}
}

// neighbour adds an agent in the lanes of the first one, with a model that
// costs nothing.
func neighbour(cfg *config.Config) string {
	a := cfg.Agents[0]
	for i := 0; ; i++ {
		a.ID = fmt.Sprint("neighbour", i)
		if laneOf(a.ID, 4) == laneOf(cfg.Agents[0].ID, 4) {
			break
		}
	}
	cfg.Models["free"] = llm.Config{Provider: "echo"}
	a.Model, a.Channels, a.Limits = agents.Names{"free"}, []agents.Binding{{Channel: "other"}}, agents.Limits{}
	cfg.Agents = append(cfg.Agents, a)
	return a.ID
}

// serveAt waits until a host serves the lane of an agent. A lane is taken with its first
// message.
func serveAt(t *testing.T, nc *nats.Conn, agent, host string) {
	t.Helper()
	results, err := nc.SubscribeSync("served")
	if err != nil {
		t.Fatal(err)
	}
	c := client.New(nc, nil, client.Options{})
	waittest.Until(t, "the lane is at "+host, func() bool {
		publish(t, nc, bus.RoutePrefix+agent, bus.Route{Kind: bus.RouteDelegate, From: "test", Text: "hi", ReplyTo: "served"})
		next(t, results)
		hosts, err := c.EveryHost(t.Context())
		return err == nil && slices.ContainsFunc(hosts, func(s client.Status) bool { return s.Host == host && s.Serving > 0 })
	})
}
