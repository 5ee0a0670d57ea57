package message

import "agenthost/run"

// HookActs is what the before_message hooks did with the input.
func (it *Item) HookActs() []run.HookAct {
	if s := it.Screened.Load(); s != nil {
		return s.Hooks
	}
	return it.Input.Hooks
}
