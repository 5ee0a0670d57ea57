package host_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"agenthost/bus"
	"agenthost/config"
	"agenthost/host"
	"agenthost/internal/control"
	"agenthost/internal/httpauth"
	"agenthost/internal/waittest"

	"github.com/rs/zerolog"
)

// threeOnOne are three agents on the channel demo, and a token for the first.
func threeOnOne(t *testing.T) *config.Config {
	cfg := demo(t)
	cfg.Agents[0].ID = "ana"
	for _, id := range []string{"bea", "cat"} {
		other := cfg.Agents[0]
		other.ID = id
		cfg.Agents = append(cfg.Agents, other)
	}
	cfg.HTTP.Token = adminToken
	cfg.HTTP.Tokens = []httpauth.Token{{Name: "desk", Token: someToken, Role: httpauth.Admin, Agents: []string{"ana"}}}
	return cfg
}

// lettersOf are the agents of all dead letters, sorted.
func lettersOf(t *testing.T, h *host.Host) (agents []string) {
	t.Helper()
	g, err := clientOf(h).DeadLetters(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	list, err := g.All(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range list {
		agents = append(agents, l.Agent)
	}
	slices.Sort(agents)
	return agents
}

// idle waits until every message on channels is done.
func idle(t *testing.T, h *host.Host) {
	t.Helper()
	waittest.Until(t, "all messages are done", func() bool {
		stream, err := h.Bus().JS.Stream(t.Context(), bus.InboundStream)
		if err != nil {
			t.Fatal(err)
		}
		last := stream.CachedInfo().State.LastSeq
		for c := range stream.ListConsumers(t.Context()).Info() {
			if c.AckFloor.Stream < last && (c.NumPending > 0 || c.NumAckPending > 0) {
				return false
			}
		}
		return true
	})
}

// A letter is of one agent: the others that are bound to the channel have answered, or have
// letters of their own.
func TestRetryIsForTheAgentOfTheLetter(t *testing.T) {
	t.Parallel()
	for name, message := range map[string]string{
		"JSON": `{"from":"eve","text":"hello"}`, "text": "hello", "of another agent by its field": `{"from":"eve","text":"hello","agent":"bea"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, _ := start(t, threeOnOne(t))
			out := outbound(t, h.Bus().NC, 1)
			letter := bus.DeadLetter{Agent: "ana", Subject: "plugin.inbound.demo", Stream: bus.InboundStream, Seq: 1, Attempts: 5}
			letter.SetPayload([]byte(message), 1<<20)
			msg, err := letter.Message()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := h.Bus().JS.PublishMsg(t.Context(), msg); err != nil {
				t.Fatal(err)
			}
			got := control.DeadOutcome{}
			callAPI(t, h, someToken, http.MethodPost, "/api/dead/retry", `{"dead_seqs":[1]}`).into(t, &got)
			if len(got.Retried) != 1 {
				t.Fatalf("got %+v", got)
			}
			idle(t, h)
			if list := out(); list[0].Agent != "ana" || stored(t, h, bus.OutboundStream) != 1 {
				t.Errorf("%d replies, the first of %s; want one of ana", stored(t, h, bus.OutboundStream), list[0].Agent)
			}
			if list := lettersOf(t, h); len(list) > 0 {
				t.Errorf("letters of %v are left", list)
			}
		})
	}
}

// What cannot be read is a letter of each agent, or of the one that it names. Each stays one,
// however often it is sent again.
func TestRetryDoesNotMultiply(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		message string
		letters []string
	}{
		"no JSON":           {`{`, []string{"ana", "bea", "cat"}},
		"no valid envelope": {`{"group":true,"text":"x"}`, []string{"ana", "bea", "cat"}},
		"naming one":        {`{"group":true,"text":"x","agent":"bea"}`, []string{"bea"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, _ := start(t, threeOnOne(t))
			if err := h.Bus().NC.Publish("plugin.inbound.demo", []byte(tt.message)); err != nil {
				t.Fatal(err)
			}
			waittest.Until(t, "the letters", func() bool { return len(lettersOf(t, h)) == len(tt.letters) })
			for range 2 {
				got := control.DeadOutcome{}
				orderAPI(t, h, "/api/dead/retry", map[string]any{"all": true}).into(t, &got)
				if len(got.Retried) != len(tt.letters) {
					t.Fatalf("got %+v", got)
				}
				idle(t, h)
				waittest.Until(t, "all are dead again", func() bool { return len(lettersOf(t, h)) >= len(tt.letters) })
				if list := lettersOf(t, h); !slices.Equal(list, tt.letters) {
					t.Fatalf("letters of %v", list)
				}
			}
		})
	}
}

// The message of an agent that is gone would be brought to no agent, or to others.
func TestRetryForAnAgentThatIsGone(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*config.Config)
		why    string
	}{
		"with all others": {func(cfg *config.Config) {
			cfg.Agents = cfg.Agents[:1]
			cfg.Agents[0].ID, cfg.Agents[0].Channels = "zoe", nil
		}, "agent ana is not served by any host"},
		"alone":   {func(cfg *config.Config) { cfg.Agents = cfg.Agents[1:] }, "agent ana is not served by any host"},
		"unbound": {func(cfg *config.Config) { cfg.Agents[0].Channels = nil }, "agent ana is not bound to demo"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := threeOnOne(t)
			load := func() (*config.Config, error) {
				next := *cfg
				next.Agents = slices.Clone(cfg.Agents)
				tt.change(&next)
				return &next, nil
			}
			h := startWith(t, host.Options{Config: cfg, Load: load, Log: zerolog.Nop()})
			if err := h.Bus().NC.Publish("plugin.inbound.demo", []byte(`{`)); err != nil {
				t.Fatal(err)
			}
			waittest.Until(t, "three letters", func() bool { return len(lettersOf(t, h)) == 3 })
			if got := h.Reload(t.Context(), host.ByCommand); got.Error != "" || len(got.Refused) > 0 {
				t.Fatalf("got %+v", got)
			}
			before := stored(t, h, bus.InboundStream)
			got := control.DeadOutcome{}
			orderAPI(t, h, "/api/dead/retry", map[string]any{"all": true, "agent": "ana"}).into(t, &got)
			if len(got.Retried) != 0 || len(got.Failed) != 1 || !strings.Contains(got.Failed[0].Error, tt.why) {
				t.Errorf("got %+v", got)
			}
			if n := stored(t, h, bus.InboundStream); n != before || !slices.Contains(lettersOf(t, h), "ana") {
				t.Errorf("%d messages, were %d; letters of %v", n, before, lettersOf(t, h))
			}
		})
	}
}
