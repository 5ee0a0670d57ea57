package slack

import (
	"context"
	"encoding/json"

	"agenthost/plugins"
)

// A pressed is the payload of an envelope that says which button was pressed.
type pressed struct {
	Type string `json:"type"`
	User struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	} `json:"user"`
	Channel struct {
		ID string `json:"id"`
	} `json:"channel"`
	Message struct {
		Time   string          `json:"ts"`
		Thread string          `json:"thread_ts"`
		Text   string          `json:"text"`
		Blocks json.RawMessage `json:"blocks"`
	} `json:"message"`
	Actions []struct {
		Type  string `json:"type"`
		Value string `json:"value"`
		Time  string `json:"action_ts"`
		Text  struct {
			Text string `json:"text"`
		} `json:"text"`
	} `json:"actions"`
}

// press takes a button that was pressed, and shows the choice in its message.
func (r *reader) press(ctx context.Context, payload json.RawMessage) (then func(), err error) {
	var p pressed
	_ = json.Unmarshal(payload, &p) // what cannot be read presses nothing
	if p.Type != "block_actions" || len(p.Actions) == 0 || p.Actions[0].Value == "" {
		return nil, nil
	}
	action := p.Actions[0]
	message := messageID(p.Channel.ID, p.Message.Time)
	m := plugins.Received{
		ID:   message + ":" + p.User.ID + ":" + action.Time,
		From: p.User.ID, Name: r.name(ctx, p.User.ID),
		Chat: p.Channel.ID, Group: group(p.Channel.ID, ""), Thread: p.Message.Thread,
		Text: action.Text.Text, ReplyTo: message, SentAt: moment(action.Time),
		Mentioned: true, Pressed: action.Value,
	}
	if err := r.take(ctx, m); err != nil {
		return nil, err
	}
	return func() { r.showChoice(ctx, p) }, nil
}

// showChoice adds to a message who has pressed what. In a group the buttons stay:
// the one who pressed may not be the one who decides.
func (r *reader) showChoice(ctx context.Context, p pressed) {
	text := p.Message.Text + "\n\n<@" + p.User.ID + ">: *" + escape(p.Actions[0].Text.Text) + "*"
	blocks := sections(text)
	if group(p.Channel.ID, "") {
		var shown []block
		if json.Unmarshal(p.Message.Blocks, &shown) == nil {
			for _, b := range shown {
				if b.Type == "actions" {
					blocks = append(blocks, b)
				}
			}
		}
	}
	// The choice counts whether it can be shown or not.
	_ = r.call(ctx, "chat.update", arguments("channel", p.Channel.ID, "ts", p.Message.Time, "text", text, "blocks", inJSON(blocks)), nil)
}
