//go:build interop

package console_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"agenthost/host"
	"agenthost/internal/interop"
	"agenthost/llm"
	"agenthost/run"
	"agenthost/session"
)

const (
	manySessions = 10_000
	manyEvents   = 5000
)

// 10,000 sessions, and a session of 5,000 events, of a host whose streams hold them.
func TestMuchInChromium(t *testing.T) {
	base, h := serve(t)
	oldest, long := fill(t, h)
	interop.Browse(t, "much.mjs", base, oldest, long)
}

// fill writes the logs of all those sessions, and returns the sids of the first and of
// the one with many events, which is the last.
func fill(t *testing.T, h *host.Host) (oldest, long string) {
	t.Helper()
	at := time.Now().Add(-24 * time.Hour).UTC().Round(0)
	publish := func(key session.Key, n int) (sid string, events int) {
		t.Helper()
		sid = session.SID("ana", key)
		runID := fmt.Sprintf("%s-%d", sid, n)
		commits := recorded(runID, n, at.Add(time.Duration(n)*5*time.Second))
		for _, c := range commits {
			data, err := json.Marshal(session.Commit{V: 1, Key: key, Run: runID, Events: c})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := h.Bus().JS.PublishAsync(session.Subject("ana", sid), data, jetstream.WithStallWait(time.Minute)); err != nil {
				t.Fatal(err)
			}
			events += len(c)
		}
		return sid, events
	}
	for n := range manySessions - 1 {
		sid, _ := publish(session.Key(fmt.Sprintf("demo/dm/person-%d", n)), n)
		if n == 0 {
			oldest = sid
		}
	}
	for n, events := 0, 0; events < manyEvents; n++ {
		sid, more := publish("demo/dm/talks-much", n)
		long, events = sid, events+more
	}
	select {
	case <-h.Bus().JS.PublishAsyncComplete():
	case <-time.After(2 * time.Minute):
		t.Fatal("the logs are not stored")
	}
	return oldest, long
}

// recorded is a run with a tool, as a host commits it; n makes it differ from others.
func recorded(id string, n int, at time.Time) [][]run.Event {
	usage := &llm.Usage{Input: int64(900 + n), Output: 40}
	message := func(role llm.Role, text string) *llm.Message {
		return &llm.Message{Role: role, Parts: []llm.Part{{Type: llm.Text, Text: text}}}
	}
	call, args := fmt.Sprint("c", n), json.RawMessage(fmt.Sprintf(`{"order":"A-%d"}`, n))
	asked := llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Type: llm.ToolCall, Call: call, Name: "find_order", Args: args}}}
	envelope := func(text string) json.RawMessage {
		return json.RawMessage(fmt.Sprintf(`{"id":"m-%s","from":"tom","text":%q}`, id, text))
	}
	said := fmt.Sprintf("Message number %d. ", n) + strings.Repeat("It has some words. ", n%9)
	answer := fmt.Sprintf("Your order **A-%d** is delivered.\n\n", n) + strings.Repeat("- one more line\n", n%8)
	commits := [][]run.Event{
		{
			{Type: run.Started, Run: id, Trigger: run.ByMessage, Inputs: []run.Input{{ID: "m-" + id, Subject: "plugin.inbound.demo", Seq: uint64(n + 1), Envelope: envelope(said)}}},
			{Type: run.MessageAdded, Message: message(llm.User, said)},
			{Type: run.ModelCalled, Provider: "openai", Model: "gpt-6-mini", Entry: "echo", Attempt: 1, Usage: usage, Cost: 100_000, Priced: true, MS: 390},
			{Type: run.MessageAdded, Message: &asked},
			{Type: run.ToolRequested, Call: call, Name: "find_order", Args: args},
		},
		{
			{Type: run.ToolFinished, Call: call, Name: "find_order", OK: n%13 != 4, Source: run.FromTool, Result: "It is delivered. " + strings.Repeat("And more of it. ", n%30)},
		},
		{
			{Type: run.ModelCalled, Provider: "openai", Model: "gpt-6-mini", Entry: "echo", Attempt: 1, Usage: usage, Cost: 100_000, Priced: true, MS: 700},
			{Type: run.MessageAdded, Message: message(llm.Assistant, answer)},
			{Type: run.Replied, Reply: &run.Reply{ID: id + ".1", N: 1, Kind: run.KindReply, Final: true, Subject: "plugin.outbound.demo", Envelope: envelope(answer)}},
			{Type: run.Finished, Run: id, Outcome: run.OutcomeSettled},
		},
	}
	for _, c := range commits {
		for i := range c {
			at = at.Add(100 * time.Millisecond)
			c[i].At = at
		}
	}
	return commits
}
