package run_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"agenthost/llm"
	"agenthost/run"
)

// BenchmarkStep is a plain answer, which is stored: a message in, one commit
// out. The model says it in one piece, or streams it. As in a busy host, many
// sessions are at it, and none of what one needs is near the processor.
func BenchmarkStep(b *testing.B) {
	lim := run.Limits{Window: 100_000, Overhead: 300}
	q := ask("r6wq2l", "hello, what is new today?")
	q.At = time.Now()
	said := say("hello Ana, what can I do for you?")
	said.Called = []run.Event{{Provider: "openai", Model: "m", Attempt: 1, Usage: &llm.Usage{Input: 9, Output: 3}, MS: 40}}
	streamed := []run.Signal{
		{Kind: run.Emission, Delta: llm.Delta{Text: "hello Ana, "}},
		{Kind: run.Emission, Delta: llm.Delta{Text: "what can I do for you?"}},
		{Kind: run.Emission, Delta: llm.Delta{Finish: llm.FinishStop}},
		{Kind: run.StreamEnd, Called: said.Called},
	}
	for name, answer := range map[string][]run.Signal{"said": {said}, "streamed": streamed} {
		signals := append([]run.Signal{q}, answer...)
		for i := range signals {
			signals[i].At, signals[i].Run = q.At, q.Run
		}
		b.Run(name, func(b *testing.B) {
			var states [1000]run.State
			var commits [len(states)][]run.Event
			b.ReportAllocs()
			for n := 0; n < b.N; n += len(states) {
				clear(states[:])
				for i := range signals {
					for k := range states {
						if effects := states[k].Step(&signals[i], &lim); len(effects) > 0 {
							commits[k] = effects[0].Events
						}
					}
				}
				for _, events := range commits {
					run.Recycle(events)
				}
			}
		})
	}
}

// BenchmarkFold is the log of that plain answer.
func BenchmarkFold(b *testing.B) {
	s := open(b, run.Limits{})
	s.send(ask("r1", "hello"))
	s.send(say("hello, Ana"))
	log := s.log
	b.ReportAllocs()
	for b.Loop() {
		var state run.State
		for _, e := range log {
			state = run.Fold(state, e)
		}
	}
}

// BenchmarkLong is a turn of a session of a thousand messages: a message in, a
// call of a tool, its result, an answer.
func BenchmarkLong(b *testing.B) {
	lim := run.Limits{Window: 1 << 20}
	state := run.State{}
	for i := range 250 {
		id := strings.TrimSuffix(fmt.Sprintf("0_%d", i), "_0")
		for _, m := range []llm.Message{llm.UserText("look"), calls(id), result(id, "there"), *say("it is there").Message} {
			state = run.Fold(state, run.Event{Type: run.MessageAdded, Message: &m})
		}
	}
	state.Messages = slices.Grow(state.Messages, 10)
	state, _ = run.Step(state, ask("r0", "look"), lim)
	state, _ = run.Step(state, say("there"), lim) // and now it is counted
	for _, id := range []string{"new", "0"} {     // of a server that tells its calls apart, and of one that counts
		b.Run(id, func(b *testing.B) {
			q := ask("r1", "look")
			b.ReportAllocs()
			for b.Loop() {
				s, effects := run.Step(state, q, lim)
				run.Shown(s.Messages, effects[len(effects)-1].Short, 0)
				s, _ = run.Step(s, use(id), lim)
				s, _ = run.Step(s, done(s.Run.Calls[0].ID), lim)
				run.Step(s, say("there"), lim)
			}
		})
	}
}

// BenchmarkAppendJSON is the commit of a plain answer, and of one of several
// lines.
func BenchmarkAppendJSON(b *testing.B) {
	for name, text := range map[string]string{
		"line":  "hello Ana, what can I do for you today?",
		"lines": strings.Repeat("It says \"no\" in the second line:\n", 10),
	} {
		s := open(b, run.Limits{})
		q := ask("r1", "hello, what is new today?")
		q.Inputs[0].Envelope = []byte(`{"id":"tg-8841","from":"ana","name":"Ana","chat":"-10012","group":true,"text":"hello, what is new today?"}`)
		s.send(q)
		a := say(text)
		a.Called = []run.Event{{Provider: "openai", Model: "m", Attempt: 1, Usage: &llm.Usage{Input: 9, Output: 3}, MS: 40}}
		s.send(a)
		for i := range s.log {
			if r := s.log[i].Reply; r != nil {
				r.Envelope = []byte(encode(b, map[string]any{
					"id": "r6wq2l.1", "agent": "ana", "session": "telegram/dm/ana", "run": "r6wq2l", "kind": "reply", "to": "ana",
					"text": text, "in_reply_to": "tg-8841", "final": true, "sent_at": "2026-01-02T15:04:05.123456789Z",
				}))
			}
		}
		b.Run(name, func(b *testing.B) {
			var data []byte
			b.ReportAllocs()
			for b.Loop() {
				data, _ = run.AppendJSON(data[:0], s.log)
			}
			b.SetBytes(int64(len(data)))
		})
	}
}
