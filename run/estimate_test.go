package run_test

import (
	"testing"

	"agenthost/llm"
	"agenthost/run"
)

// Budgets are checked by the estimate: what a model reads to its end counts by its length.
func TestAttachmentsAreEstimated(t *testing.T) {
	const large = 1 << 20
	for name, tt := range map[string]struct {
		media llm.Media
		want  int // tokens at least
		most  int
	}{
		"image":           {llm.Media{MIME: "image/png", Data: make([]byte, large)}, 1000, 1100},
		"long PDF":        {llm.Media{MIME: "application/pdf", Data: make([]byte, large)}, large / 256, large/256 + 100},
		"short note":      {llm.Media{MIME: "audio/ogg", Data: make([]byte, 100)}, 1000, 1100},
		"without content": {llm.Media{MIME: "video/mp4", Object: "o"}, 1000, 1100},
	} {
		got := run.Estimate([]llm.Message{{Parts: []llm.Part{{Type: llm.MediaPart, Media: &tt.media}}}})
		if got < tt.want || got > tt.most {
			t.Errorf("%s: %d tokens, want %d to %d", name, got, tt.want, tt.most)
		}
	}
}
