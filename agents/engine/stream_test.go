package engine_test

import (
	"context"
	"encoding/json"
	"iter"
	"strings"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/llm"
	"agenthost/session"
	"agenthost/tools"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/nats-io/nats.go"
)

const speaking = `
rules:
  - {is: one, text: all of it}
  - {is: think, reasoning: "Let me see.", text: all of it}
  - {is: look, text: "I look.", tool_calls: [{name: look, args: {}}]}
  - {after_tool: look, chunks: ["It is ", "noon."]}
  - {is: break, chunks: [Half, " a"], cut: true}
  - {is: again, times: 1, reasoning: "Old thoughts.", cut: true}
  - {is: again, reasoning: "New.", chunks: ["It is ", "done."]}
`

// A model that fails amid its thoughts is asked again: a reader of the stream,
// the answer and the log have what came of the second attempt alone.
func TestStreamRestarts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, actor{cfg: agents.Config{ID: "ana", Channels: []agents.Binding{{Channel: "web"}}}, script: speaking})
	text, reasoning := "", ""
	for _, c := range w.streamOf(w.listen(), "again") {
		if c.Restart {
			text, reasoning = "", ""
		}
		text, reasoning = text+c.Text, reasoning+c.Reasoning
	}
	if text != "It is done." || reasoning != "New." {
		t.Errorf("read %q and %q, want the second attempt alone", text, reasoning)
	}
	log, err := json.Marshal(w.log("ana", session.DM("web", "", "ana")))
	if err != nil || strings.Contains(string(log), "Old") || !strings.Contains(string(log), "New") {
		t.Errorf("want the second attempt's thoughts alone: %s, %v", log, err)
	}
}

// listen subscribes to what ana's agent says to ana.
func (w *world) listen() chan *nats.Msg {
	w.t.Helper()
	msgs := make(chan *nats.Msg, 1000)
	sub, err := w.bus.NC.ChanSubscribe(agents.StreamSubject("ana", session.DM("web", "", "ana")), msgs)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = sub.Unsubscribe() })
	return msgs
}

// streamOf says something to ana's agent and returns what is streamed until the
// reply.
func (w *world) streamOf(msgs chan *nats.Msg, text string) []agents.Chunk {
	w.t.Helper()
	w.say("web", bus.Inbound{ID: text, Text: text})
	w.hear()
	if err := w.bus.NC.Flush(); err != nil { // what was published before is here then
		w.t.Fatal(err)
	}
	var chunks []agents.Chunk
	for len(msgs) > 0 {
		c := nextChunk(w.t, msgs)
		if c.InReplyTo != text || c.Run == "" {
			w.t.Errorf("chunk of run %q in reply to %q", c.Run, c.InReplyTo)
		}
		if n := len(chunks) - 1; n >= 0 && c.Text != "" && chunks[n].Text != "" && chunks[n].Turn == c.Turn {
			chunks[n].Text += c.Text // how much comes at once is a matter of time
		} else {
			chunks = append(chunks, c)
		}
	}
	return chunks
}

func nextChunk(t testing.TB, msgs chan *nats.Msg) (c agents.Chunk) {
	t.Helper()
	select {
	case msg := <-msgs:
		if err := json.Unmarshal(msg.Data, &c); err != nil {
			t.Fatal(err)
		}
	case <-time.After(60 * time.Second):
		t.Fatal("nothing is streamed")
	}
	return c
}

func lookTool() tools.Tool {
	return tools.Tool{
		Name: "look", ReadOnly: true,
		Run: func(context.Context, tools.Call) (tools.Result, error) { return tools.Result{Text: "noon"}, nil },
	}
}

func TestStream(t *testing.T) {
	t.Parallel()
	w := newWorld(t, actor{
		cfg: agents.Config{ID: "ana", Channels: []agents.Binding{{Channel: "web"}}}, script: speaking, tools: []tools.Tool{lookTool()},
	})
	msgs := w.listen()
	tests := map[string][]agents.Chunk{
		"think": {
			{Turn: 1, Reasoning: "Let me see."},
			{Turn: 1, Text: "all of it"},
			{Turn: 1, Offset: 9, End: agents.EndDone},
		},
		"look": {
			{Turn: 1, Text: "I look."},
			{Turn: 1, Offset: 7, End: agents.EndDone},
			{Turn: 2, Text: "It is noon."},
			{Turn: 2, Offset: 11, End: agents.EndDone},
		},
		"break": {{Turn: 1, Text: "Half a"}, {Turn: 1, Offset: 6, End: agents.EndCut}},
	}
	for text, want := range tests {
		got := w.streamOf(msgs, text)
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(agents.Chunk{}, "Run", "InReplyTo")); diff != "" {
			t.Errorf("%s: -want +got:\n%s", text, diff)
		}
	}
}

// A speaker says what it is told to, when it is.
type speaker chan llm.Delta

func (s speaker) Stream(ctx context.Context, _ llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		for {
			select {
			case d := <-s:
				if !yield(d, nil) || d.Finish != "" {
					return
				}
			case <-ctx.Done():
				yield(llm.Delta{}, llm.Stopped(ctx))
				return
			}
		}
	}
}

func newSpeaker(t testing.TB) (*world, speaker) {
	t.Helper()
	s := speaker(make(chan llm.Delta))
	return newWorld(t, actor{cfg: agents.Config{ID: "ana", Channels: []agents.Binding{{Channel: "web"}}}, model: s}), s
}

// What is said so far is told while it is said, and only then.
func TestSpeaking(t *testing.T) {
	t.Parallel()
	w, s := newSpeaker(t)
	key := session.DM("web", "", "ana")
	msgs := w.listen()
	if got := w.fleet.Speaking("ana", key); got != nil {
		t.Errorf("before anything is said: %+v", got)
	}
	w.say("web", bus.Inbound{ID: "m1", Text: "hi"})
	s <- llm.Delta{Reasoning: "hm"}
	s <- llm.Delta{Text: "one "}
	s <- llm.Delta{Text: "two "}
	s <- llm.Delta{Usage: &llm.Usage{Input: 1}} // by now the others have been taken
	want := []agents.Chunk{{Turn: 1, InReplyTo: "m1", Reasoning: "hm"}, {Turn: 1, InReplyTo: "m1", Text: "one two "}}
	if diff := cmp.Diff(want, w.fleet.Speaking("ana", key), cmpopts.IgnoreFields(agents.Chunk{}, "Run")); diff != "" {
		t.Errorf("while it is said: -want +got:\n%s", diff)
	}
	for text := ""; text != "one two "; { // a single piece is published too when no other follows at once
		text += nextChunk(t, msgs).Text
	}
	s <- llm.Delta{Finish: llm.FinishStop}
	w.expect(bus.KindReply, "one two ")
	for _, c := range [][]agents.Chunk{w.fleet.Speaking("ana", key), w.fleet.Speaking("ana", "web/dm/bob"), w.fleet.Speaking("bob", key)} {
		if c != nil {
			t.Errorf("when nothing is said: %+v", c)
		}
	}
}

// A run that is stopped says that the rest will not come.
func TestStreamIsCut(t *testing.T) {
	t.Parallel()
	w, s := newSpeaker(t)
	msgs := w.listen()
	w.say("web", bus.Inbound{Text: "hi"})
	s <- llm.Delta{Text: "one "}
	s <- llm.Delta{Text: "two "}
	s <- llm.Delta{Usage: &llm.Usage{Input: 1}}
	w.say("web", bus.Inbound{Text: "/stop"})
	w.hear()
	for {
		c := nextChunk(t, msgs)
		if c.End == "" {
			continue
		}
		if c.End != agents.EndCut || c.Offset != len("one two ") {
			t.Errorf("got %+v", c)
		}
		return
	}
}

// A piece that is longer than a message is told in several.
func TestStreamAtLength(t *testing.T) {
	t.Parallel()
	w, s := newSpeaker(t)
	msgs := w.listen()
	long := strings.Repeat("é\x01", 400_000) // a control character takes six bytes
	w.say("web", bus.Inbound{Text: "hi"})
	s <- llm.Delta{Text: "say: "}
	s <- llm.Delta{Text: long}
	text := ""
	for len(text) < len("say: ")+len(long) {
		c := nextChunk(t, msgs)
		if c.Offset != len(text) {
			t.Fatalf("chunk at %d, want %d", c.Offset, len(text))
		}
		text += c.Text
	}
	if text != "say: "+long {
		t.Error("what was streamed is not what was said")
	}
	s <- llm.Delta{Finish: llm.FinishStop}
	w.hear()
}

// What is longer than a message is told in several.
func TestSpeakingAtLength(t *testing.T) {
	t.Parallel()
	w, s := newSpeaker(t)
	long := strings.Repeat("é", 200_000)
	w.say("web", bus.Inbound{Text: "hi"})
	s <- llm.Delta{Text: long}
	s <- llm.Delta{Reasoning: long}
	s <- llm.Delta{Usage: &llm.Usage{Input: 1}}
	said := w.fleet.Speaking("ana", session.DM("web", "", "ana"))
	var j agents.Joiner
	text, reasoning := "", ""
	for _, c := range said {
		for _, c := range j.Join(c) {
			text += c.Text
			reasoning += c.Reasoning
		}
	}
	if len(said) < 4 || text != long || reasoning != long {
		t.Errorf("got %d and %d bytes in %d pieces", len(text), len(reasoning), len(said))
	}
	s <- llm.Delta{Finish: llm.FinishStop}
	w.hear()
}
