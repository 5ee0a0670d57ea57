package cli

import (
	"testing"

	"agenthost/internal/terminal"
)

// A state that needs a look stands out, by its first word.
func TestStatesHaveColours(t *testing.T) {
	for state, want := range map[string]terminal.Style{
		"ready": terminal.Green, "connected": terminal.Green, "running": terminal.Cyan, "waiting": terminal.Yellow,
		"waiting for approval": terminal.Yellow, "degraded": terminal.Yellow, "paused by ana": terminal.Yellow,
		"connecting": terminal.Yellow, "reconnecting": terminal.Yellow,
		"quarantined": terminal.Red, "unreadable": terminal.Red, "refused": terminal.Red, "failed": terminal.Red,
		"idle": terminal.Plain, "not ready": terminal.Plain, "": terminal.Plain,
	} {
		if got := Stated(state); got != (terminal.Styled{Text: state, Style: want}) {
			t.Errorf("%q: got %+v, want style %q", state, got, want)
		}
	}
}
