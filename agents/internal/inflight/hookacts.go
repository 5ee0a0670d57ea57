package inflight

import (
	"unicode/utf8"

	"agenthost/hooks"
	"agenthost/run"
)

// actsOf is what hooks did at a point, as the log has it.
func actsOf(point, call string, acts []hooks.Act) []run.HookAct {
	if len(acts) == 0 {
		return nil
	}
	list := make([]run.HookAct, len(acts))
	for i, act := range acts {
		list[i] = run.HookAct{
			At: act.At.UTC().Round(0), Point: point, Call: call, Hook: act.Handler, Args: act.Args,
			Action: actionOf(act.Action), Reason: shortened(act.Reason),
		}
		if act.Err != nil {
			list[i].Error = shortened(act.Err.Error())
		}
	}
	return list
}

func actionOf(a hooks.Action) string {
	switch a {
	case hooks.Override:
		return run.HookOverrode
	case hooks.Abort:
		return run.HookAborted
	}
	return run.HookFailed
}

// longestAct is how much the log keeps of a reason or an error, in bytes.
const longestAct = 512

func shortened(text string) string {
	if len(text) <= longestAct {
		return text
	}
	end := longestAct
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}
