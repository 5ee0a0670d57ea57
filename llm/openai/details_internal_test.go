package openai

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"
)

// Reasoning may come in many thousands of pieces. None of them has all that came before copied.
func TestDetailsInManyPieces(t *testing.T) {
	const pieces = 20_000
	thought := thoughts{from: "h"}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range pieces {
		thought.addDetail(detail{"type": "reasoning.text", "index": 0.0, "text": "a piece of a thought; "})
	}
	thought.addDetail(detail{"type": "reasoning.summary", "summary": "in "})
	thought.addDetail(detail{"type": "reasoning.summary", "summary": "short", "signature": "s"})
	news := thought.news()
	got := reasoningMeta{}
	if err := json.Unmarshal(thought.meta(), &got); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	want := strings.Repeat("a piece of a thought; ", pieces)
	if len(got.Details) != 2 || got.Details[0]["text"] != want || got.Details[1]["summary"] != "in short" || got.Details[1]["signature"] != "s" {
		t.Errorf("got %d details, not those that were joined: %.200v", len(got.Details), got.Details)
	}
	if news < len(want) {
		t.Errorf("%d bytes are counted, want %d", news, len(want))
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 100<<20 {
		t.Errorf("%d MiB were copied for %d MiB", n>>20, len(want)>>20)
	}
}
