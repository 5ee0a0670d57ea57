package metrics_test

import (
	"errors"
	"io"
	"iter"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"agenthost/client"
	"agenthost/llm"
	"agenthost/metrics"

	"github.com/google/go-cmp/cmp"
)

var (
	row    = regexp.MustCompile("(?m)^\\| `(agenthost_[a-z_]+)` \\| ([a-z]+) \\| ([^|]*) \\|")
	word   = regexp.MustCompile("`([a-z_]+)`")
	typed  = regexp.MustCompile(`(?m)^# TYPE (agenthost_\S+) (\S+)$`)
	labels = regexp.MustCompile(`([a-z_]+)="`)
)

// full is a registry in which each number has been shown at least once.
func full() *metrics.Registry {
	r := metrics.New()
	main := llm.NewGate("main", llm.Rate{})
	r.Gates(func() []*llm.Gate { return []*llm.Gate{main} })
	r.Suspects(func() iter.Seq2[string, int] { return maps.All(map[string]int{"ana": 2}) })
	r.Open(func() iter.Seq2[string, int] { return maps.All(map[string]int{"ana": 3, "bob": 1}) },
		func() iter.Seq2[string, int] { return maps.All(map[string]int{"ana": 0}) })
	r.Channels(func() []client.AccountStatus { return []client.AccountStatus{{Channel: "web", Instance: "bobs"}} })
	r.Lanes(func() iter.Seq2[string, uint64] { return maps.All(map[string]uint64{"3": 5, "ana/0": 1, "bob/0": 1}) })
	r.OldestWaiting(func() iter.Seq2[string, time.Duration] {
		return maps.All(map[string]time.Duration{"ana": 1500 * time.Millisecond})
	})
	r.DeadLetters(func() iter.Seq[string] { return slices.Values([]string{"ana", "bob"}) })
	r.InboundMessage("ana", "web")
	r.RunEnded("ana", "settled")
	r.OutboundMessage("ana", "web", "reply")
	r.DeadLetter("ana")
	a := llm.Attempt{Entry: "main", Provider: "openai", Model: "m", Number: 1, Took: 3 * time.Second, Usage: llm.Usage{Input: 10, Output: 5}}
	r.Attempt("ana", a)
	a.Err = llm.StatusError(503, nil, errors.New("down"))
	r.Attempt("ana", a)
	r.Attempt("ana", llm.Attempt{Entry: "main", Provider: "openai", Model: "m", Skipped: llm.SkipOpen})
	return r
}

func page(t *testing.T, r *metrics.Registry) string {
	t.Helper()
	return get(t, r.Handler())
}

func get(t *testing.T, h http.Handler) string {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	body, err := io.ReadAll(w.Body)
	if err != nil || w.Code != http.StatusOK {
		t.Fatalf("status %d, %v", w.Code, err)
	}
	return string(body)
}

// docs/metrics.md lists what there is, with its kind and its labels.
func TestDocsListWhatIsEmitted(t *testing.T) {
	text, err := os.ReadFile("../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	listed, emitted := map[string]string{}, map[string]string{}
	for _, m := range row.FindAllStringSubmatch(string(text), -1) {
		listed[m[1]] = m[2] + names(word, m[3])
	}
	shown := page(t, full())
	for _, m := range typed.FindAllStringSubmatch(shown, -1) {
		emitted[m[1]] = m[2] + names(labels, sample(shown, m[1]))
	}
	if diff := cmp.Diff(emitted, listed); diff != "" {
		t.Errorf("metrics (-emitted +docs):\n%s", diff)
	}
}

// sample is the first line of a metric's values.
func sample(page, name string) string {
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, name) {
			return line
		}
	}
	return ""
}

// names are the words that re finds, in order, without what a histogram adds.
func names(re *regexp.Regexp, text string) string {
	var list []string
	for _, m := range re.FindAllStringSubmatch(text, -1) {
		if m[1] != "le" {
			list = append(list, m[1])
		}
	}
	slices.Sort(list)
	return " " + strings.Join(list, " ")
}

func TestValues(t *testing.T) {
	shown := page(t, full())
	for _, want := range []string{
		`agenthost_model_attempts_total{agent="ana",code="ok",model="m",provider="openai"} 1`,
		`agenthost_model_attempts_total{agent="ana",code="provider_unavailable",model="m",provider="openai"} 1`,
		`agenthost_model_skips_total{agent="ana",model="m",provider="openai",reason="open"} 1`,
		`agenthost_model_tokens_total{agent="ana",class="input",model="m",provider="openai"} 20`,
		`agenthost_model_duration_seconds_sum{agent="ana",model="m",provider="openai"} 6`,
		`agenthost_model_breaker_state{entry="main",state="closed"} 1`,
		`agenthost_model_breaker_state{entry="main",state="open"} 0`,
		`agenthost_model_parked_until_seconds{entry="main"} 0`,
		`agenthost_model_in_flight{entry="main"} 0`,
		`agenthost_suspects_waiting{agent="ana"} 2`,
		`agenthost_approvals_open{agent="ana"} 3`,
		`agenthost_questions_open{agent="ana"} 0`,
		`agenthost_inbound_messages_total{agent="ana",channel="web"} 1`,
		`agenthost_runs_total{agent="ana",outcome="settled"} 1`,
		`agenthost_outbound_messages_total{agent="ana",channel="web",kind="reply"} 1`,
		`agenthost_dead_letters_total{agent="ana"} 1`,
		`agenthost_dead_letters_total{agent="bob"} 0`,
		`agenthost_lane_lag{lane="3"} 5`,
		`agenthost_lane_lag{lane="ana/0"} 1`,
		`agenthost_oldest_waiting_seconds{agent="ana"} 1.5`,
		"go_goroutines ",
	} {
		if !strings.Contains(shown, "\n"+want) {
			t.Errorf("there is no %s", want)
		}
	}
}

// Who is for some agents only sees the numbers of these, and those of no agent. An account
// of a channel is not known to be of one.
func TestHandlerFor(t *testing.T) {
	r := full()
	r.InboundMessage("bob", "web")
	shown := get(t, r.HandlerFor(func(agent string) bool { return agent == "ana" }))
	for _, want := range []string{
		`agenthost_inbound_messages_total{agent="ana",channel="web"} 1`,
		`agenthost_dead_letters_total{agent="ana"} 1`,
		`agenthost_lane_lag{lane="3"} 5`,
		`agenthost_lane_lag{lane="ana/0"} 1`,
		`agenthost_model_in_flight{entry="main"} 0`,
		"go_goroutines ",
	} {
		if !strings.Contains(shown, "\n"+want) {
			t.Errorf("there is no %s", want)
		}
	}
	if i := strings.Index(shown, "bob"); i >= 0 {
		t.Errorf("got %s", shown[:i+3])
	}
	if again := page(t, r); !strings.Contains(again, `agenthost_inbound_messages_total{agent="bob",channel="web"} 1`) || !strings.Contains(again, `instance="bobs"`) {
		t.Errorf("for all agents: got %s", again)
	}
}

func TestCountingDoesNotAllocate(t *testing.T) {
	r := full()
	a := llm.Attempt{Provider: "openai", Model: "m", Took: time.Second, Usage: llm.Usage{Input: 10, Output: 5}}
	if n := testing.AllocsPerRun(1000, func() { r.Attempt("ana", a) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
	if n := testing.AllocsPerRun(1000, func() { r.OutboundMessage("ana", "web", "reply") }); n > 0 {
		t.Errorf("a reply: %v allocations", n)
	}
}
