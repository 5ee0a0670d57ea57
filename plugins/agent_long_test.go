//go:build long

package plugins_test

import (
	"testing"

	"agenthost/bus/bustest"
	"agenthost/plugins"
)

// A person sees the answer grow, and then the reply in its place.
func TestAnswerGrows(t *testing.T) {
	t.Parallel()
	platform := agentAndChannel(t, "demo", chatLimits())
	platform.write(plugins.Received{From: "ana", Text: "slowly"})
	bustest.Eventually(t, "the reply", func() bool { return len(platform.messages("ana")) == 1 })
	shown, left := platform.previewed()
	if len(shown) == 0 || left != 0 || platform.messages("ana")[0].Preview == "" || platform.typed("ana") == 0 {
		t.Errorf("previews %q, %d are left; typing %d times", shown, left, platform.typed("ana"))
	}
}
