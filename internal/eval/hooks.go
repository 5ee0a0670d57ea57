package eval

import (
	"strings"
	"time"

	"agenthost/run"
)

// A TimedLine is a line of a timeline.
type TimedLine struct {
	At   time.Time
	Text string
}

// Lines are an event in words with what hooks did on the way to it; none when another
// event of its commit says the same.
func Lines(e run.Event) []TimedLine {
	var list []TimedLine
	for _, act := range e.HookActs() {
		if act.Point == "before_model_call" || act.Point == "before_tool_call" {
			list = append(list, TimedLine{act.At, hookLine(act)})
		}
	}
	if line := Line(e); line != "" {
		list = append(list, TimedLine{e.At, line})
	}
	for _, act := range e.HookActs() {
		if act.Point != "before_model_call" && act.Point != "before_tool_call" {
			list = append(list, TimedLine{act.At, hookLine(act)})
		}
	}
	return list
}

func hookLine(act run.HookAct) string {
	line := "hook " + act.Hook + " at " + act.Point + ": "
	switch {
	case act.Action == run.HookOverrode:
		return line + "changed " + strings.Join(act.Args, ", ")
	case act.Action == run.HookAborted && act.Error != "":
		return line + "failed, and stopped this as it fails closed: " + short(act.Error)
	case act.Action == run.HookAborted:
		return line + "stopped this: " + short(act.Reason)
	case act.Action == run.HookFailed:
		return line + "failed: " + short(act.Error)
	}
	return line + act.Action
}
