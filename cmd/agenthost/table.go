package main

import (
	"strings"

	"agenthost/internal/terminal"
)

// table is one for standard output.
func (a *app) table(heads ...string) *terminal.Table { return terminal.NewTable(a.screen(), heads...) }

// working shows on standard error that something takes its time, until stop.
func (a *app) working(what string) (stop func()) {
	return terminal.On(a.stderr, a.getenv).Spin(a.stderr, what)
}

// states are those that are not as they should be, or need somebody, by their
// first word.
var states = map[string]terminal.Style{
	"ready": terminal.Green, "running": terminal.Cyan, "waiting": terminal.Yellow, "degraded": terminal.Yellow,
	"quarantined": terminal.Red, "unreadable": terminal.Red,
}

// stated is a state in its colour.
func stated(state string) terminal.Styled {
	first, _, _ := strings.Cut(state, " ")
	return terminal.Styled{Text: state, Style: states[first]}
}
