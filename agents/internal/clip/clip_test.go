package clip_test

import (
	"testing"

	"agenthost/agents/internal/clip"
)

func TestHead(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"abc": "abc", "abcdef": "abcd", "abcä": "abc", "äää": "ää", "": "", "\x80\x80\x80\x80\x80\x80": "\x80\x80\x80\x80"} {
		if got := clip.Head(in, 4); got != want {
			t.Errorf("head(%q) = %q, want %q", in, got, want)
		}
	}
}
