package builtin

import (
	"context"
	"encoding/json"
	"errors"

	"agenthost/tools"
)

// Reminders keeps reminders of chats. What its methods return is for the model.
type Reminders interface {
	// Make makes one; the same call makes no second.
	Make(ctx context.Context, call tools.Call, when, zone, text string) (string, error)
	List(ctx context.Context, chat tools.Call) (string, error)
	Cancel(ctx context.Context, chat tools.Call, id string) (string, error)
}

// remindTool counts as read-only: all it leads to is that the agent speaks up
// in the chat in which it was asked to.
func remindTool(r Reminders) tools.Tool {
	return tools.Tool{
		Name: "remind",
		Description: "Makes, lists and cancels reminders. When a reminder is due you are told its text, in this conversation, " +
			"and what you answer goes to the person.",
		Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"properties":{
			"when":{"type":"string","description":"in 20m | in 2d | 18:00 | tomorrow 9:00 | 2026-12-24 18:00 | 2026-12-24T18:00:00+01:00 | every 2h | cron 0 8 * * 1-5"},
			"text":{"type":"string","description":"what to remind of"},
			"timezone":{"type":"string","description":"IANA name such as Europe/Paris; your own by default"},
			"list":{"type":"boolean","description":"list the reminders of this conversation instead"},
			"cancel":{"type":"string","description":"the id of a reminder to cancel instead"}}}`),
		ReadOnly: true,
		Keeps:    true,
		Rerun:    true,
		Run: decoded(func(ctx context.Context, call tools.Call, args remindArgs) (tools.Result, error) {
			text, err := args.run(ctx, call, r)
			return tools.Result{Text: text}, err
		}),
	}
}

type remindArgs struct {
	When, Text, Timezone string
	List                 bool
	Cancel               string
}

func (a remindArgs) run(ctx context.Context, call tools.Call, r Reminders) (string, error) {
	switch {
	case a.List:
		return r.List(ctx, call)
	case a.Cancel != "":
		return r.Cancel(ctx, call, a.Cancel)
	case a.When == "" || a.Text == "":
		return "", errors.New(`remind: want when and text, or list, or cancel`)
	}
	return r.Make(ctx, call, a.When, a.Timezone, a.Text)
}
