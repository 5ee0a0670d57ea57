package backup_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/host"
	"agenthost/host/hosttest"
	"agenthost/internal/scrub"
	"agenthost/tools"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// Ana answers, uses a tool that may not run twice, stores notes, asks Bo, who works for
// her, and asks people; cat is divided into partitions.
const fleetFile = `
nats: {url: %q}
http: {listen: ""}
models:
  main: {provider: scripted, script: rules.yaml}
  helper: {provider: scripted, script: helper.yaml}
agents:
  - {id: ana, model: main, channels: [web], tools: [charge, remember, delegate, ask_human], delegates: [bo], permissions: {charge: allow, remember: allow}}
  - {id: bo, model: helper, tools: [charge], permissions: {charge: allow}}
  - {id: cat, model: main, channels: [app], tools: [charge], permissions: {charge: allow}, partitions: 3}
`

const fleetRules = `rules:
  - {match: '^charge', tool_calls: [{name: charge, args: {for: "${text}"}}]}
  - {match: '^note', tool_calls: [{name: remember, args: {name: "n${text}", text: "${text}"}}]}
  - {match: '^delegate', tool_calls: [{name: delegate, args: {to: bo, task: "${text}"}}]}
  - {match: '^ask', tool_calls: [{name: ask_human, args: {question: "Which colour?"}}]}
  - {after_tool: "*", text: "did: ${result}"}
  - {delay: 50ms, text: "said: ${text}"}
`

const helperRules = `rules:
  - {after_tool: "*", text: "charged: ${result}"}
  - {tool_calls: [{name: charge, args: {for: "${text}"}}]}
`

// charges are the calls of a tool that changes something elsewhere. The first few wait
// until hold is closed, if there is one.
type charges struct {
	hold  chan struct{}
	mu    sync.Mutex
	calls map[string]int
}

// held is how many calls wait.
const held = 3

// count counts a call, and reports whether it is to wait.
func (c *charges) count(id string) (waits bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls[id]++
	return c.hold != nil && len(c.calls) <= held
}

func (c *charges) tool() tools.Tool {
	return tools.Tool{
		Name: "charge", Description: "Charges.", Schema: json.RawMessage(`{"type":"object","properties":{"for":{"type":"string"}}}`),
		Run: func(ctx context.Context, call tools.Call) (tools.Result, error) {
			if c.count(call.ID) {
				select {
				case <-c.hold:
				case <-ctx.Done():
				}
			}
			bus.Pause(ctx, 20*time.Millisecond) // so that some are under way at any time
			return tools.Result{Text: "charged"}, ctx.Err()
		},
	}
}

func (c *charges) snapshot() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.calls)
}

// serveFleet starts a host of the fleet.
func serveFleet(t *testing.T, url, name string, c *charges) (stop func()) {
	t.Helper()
	folder := t.TempDir()
	write(t, filepath.Join(folder, "rules.yaml"), fleetRules)
	write(t, filepath.Join(folder, "helper.yaml"), helperRules)
	path := filepath.Join(folder, "agenthost.yaml")
	write(t, path, fmt.Sprintf(fleetFile, url))
	h, err := host.Open(path, host.Options{
		Name: name, Grace: 10 * time.Millisecond, Tools: []tools.Tool{c.tool()}, Log: zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.WarnLevel),
	})
	if err != nil {
		t.Fatal(err)
	}
	return hosttest.Serve(t, h)
}

const (
	sessions = 40
	rounds   = 16
)

// textOf is what one person writes in a round.
func textOf(person, round int) string {
	kinds := []string{"hello", "charge", "hello", "note", "delegate", "hello", "charge", "hello"}
	return fmt.Sprintf("%s %d %d", kinds[(round+person)%len(kinds)], person, round)
}

// subjectOf is where a person writes: to one agent or the other.
func subjectOf(person int) string {
	if person%4 == 0 {
		return "plugin.inbound.app"
	}
	return "plugin.inbound.web"
}

// talk publishes all messages, those of one person in their order. Every other person's
// messages have no id, so that they are known by their sequence.
func talk(t *testing.T, js jetstream.JetStream) {
	t.Helper()
	for i := range rounds {
		for person := range sessions {
			in := map[string]any{"from": "p" + strconv.Itoa(person), "text": textOf(person, i)}
			if person%2 == 0 {
				in["id"] = fmt.Sprintf("m-%d-%d", person, i)
			}
			data, err := json.Marshal(in)
			if err != nil {
				t.Fatal(err)
			}
			bustest.Publish(t, js, subjectOf(person), string(data))
		}
	}
}

// An end is what ended the run of a message.
type end struct {
	seq       uint64
	session   string
	inReplyTo string
	text      string
}

// A told is a message with its name.
type told struct {
	name, from string
	seq        uint64
	at         time.Time
}

func readStream(t *testing.T, js jetstream.JetStream, name string, each func(*jetstream.RawStreamMsg)) {
	t.Helper()
	s, err := js.Stream(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	state := s.CachedInfo().State
	for seq := max(state.FirstSeq, 1); seq <= state.LastSeq; seq++ {
		if m, err := s.GetMsg(t.Context(), seq); err == nil {
			each(m)
		}
	}
}

func messagesOf(t *testing.T, js jetstream.JetStream) (list []told) {
	t.Helper()
	readStream(t, js, bus.InboundStream, func(m *jetstream.RawStreamMsg) {
		var in bus.Inbound
		if err := json.Unmarshal(m.Data, &in); err != nil {
			t.Fatal(err)
		}
		list = append(list, told{cmp.Or(in.ID, fmt.Sprintf("%s:%d", bus.InboundStream, m.Sequence)), in.From, m.Sequence, m.Time})
	})
	return list
}

func endsOf(t *testing.T, js jetstream.JetStream) (list []end) {
	t.Helper()
	readStream(t, js, bus.OutboundStream, func(m *jetstream.RawStreamMsg) {
		if !strings.HasPrefix(m.Subject, bus.OutboundPrefix) {
			return
		}
		var out bus.Outbound
		if err := json.Unmarshal(m.Data, &out); err != nil {
			t.Fatal(err)
		}
		if out.Final {
			list = append(list, end{m.Sequence, out.Session, out.InReplyTo, out.Text})
		}
	})
	return list
}

// audit waits until each message has an end, and checks that it has one, in order.
func audit(t *testing.T, js jetstream.JetStream, want int) {
	t.Helper()
	messages := messagesOf(t, js)
	if len(messages) < want {
		t.Fatalf("there are %d messages, want %d or more", len(messages), want)
	}
	bustest.Eventually(t, "all messages have an end", func() bool {
		ended := map[string]bool{}
		for _, e := range endsOf(t, js) {
			ended[e.inReplyTo] = true
		}
		return !slices.ContainsFunc(messages, func(m told) bool { return !ended[m.name] })
	})
	ends, order := map[string]int{}, map[string][]string{}
	for _, e := range endsOf(t, js) {
		ends[e.inReplyTo]++
		order[e.session] = append(order[e.session], e.inReplyTo)
	}
	wanted := map[string][]string{}
	for _, m := range messages {
		if ends[m.name] != 1 {
			t.Errorf("message %s has %d ends", m.name, ends[m.name])
		}
		wanted[m.from] = append(wanted[m.from], m.name)
	}
	for session, got := range order {
		_, person, _ := strings.Cut(session, "/dm/")
		if !slices.Equal(got, wanted[person]) {
			t.Errorf("session %s was answered as %q, want %q", session, got, wanted[person])
		}
	}
}

func checkRestored(t *testing.T, url string, js jetstream.JetStream, before int, had []end, first *charges) {
	t.Helper()
	second := &charges{calls: map[string]int{}}
	earlier := first.snapshot()
	stop := serveFleet(t, url, "three", second)
	audit(t, js, before)
	after := endsOf(t, js)
	if !slices.Equal(after[:len(had)], had) {
		t.Error("replies of before the backup have changed")
	}
	for id, n := range second.snapshot() {
		if n > 1 {
			t.Errorf("call %s was made %d times", id, n)
		}
		if earlier[id] > 0 {
			t.Errorf("call %s was under way at the backup and was made again", id)
		}
	}
	stop()
	report, err := scrub.Run(t.Context(), js, scrub.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !report.Clean() {
		t.Errorf("scrub: %+v", report.Findings)
	}
}
