package cli

import (
	"strings"
	"time"

	"agenthost/internal/terminal"
)

// Table is one for standard output.
func (a *App) Table(heads ...string) *terminal.Table { return terminal.NewTable(a.Screen(), heads...) }

// Time is a time in a table, in the zone of this machine.
func Time(at time.Time) terminal.Whole { return terminal.Whole(at.Local().Format(time.DateTime)) }

// Working shows on standard error that something takes its time, until stop.
func (a *App) Working(what string) (stop func()) {
	return terminal.On(a.Stderr, a.Getenv).Spin(a.Stderr, what)
}

// states are those that are not as they should be, or wait for a person, by their
// first word.
var states = map[string]terminal.Style{
	"ready": terminal.Green, "running": terminal.Cyan, "waiting": terminal.Yellow, "degraded": terminal.Yellow, "paused": terminal.Yellow,
	"quarantined": terminal.Red, "unreadable": terminal.Red,
	"connected": terminal.Green, "connecting": terminal.Yellow, "reconnecting": terminal.Yellow, "refused": terminal.Red, "failed": terminal.Red,
}

// Stated is a state in its colour.
func Stated(state string) terminal.Styled {
	first, _, _ := strings.Cut(state, " ")
	return terminal.Styled{Text: state, Style: states[first]}
}
