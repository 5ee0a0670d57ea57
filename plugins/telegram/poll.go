package telegram

import (
	"context"
	"encoding/json"
	"time"

	"agenthost/plugins"
)

// updateKinds are the updates that are read.
var updateKinds = []string{"message", "edited_message", "callback_query"}

// poll asks for updates until ctx ends or a call fails. The next call acknowledges
// those whose number is below its offset. So it rises with each update that was
// taken, and the rest of a batch comes again when one was not.
func (c *Channel) poll(ctx context.Context, in *plugins.Inbox) error {
	var offset int64
	defer func() { c.acknowledge(ctx, offset) }()
	for {
		var updates []json.RawMessage
		p := params{"timeout": int(pollFor / time.Second), "allowed_updates": updateKinds}
		if offset != 0 {
			p["offset"] = offset
		}
		if err := c.api.call(ctx, "getUpdates", p, &updates); err != nil {
			return verdict(err, false)
		}
		for _, raw := range updates {
			u := readUpdate(raw)
			if err := c.take(ctx, in, u); err != nil {
				return err
			}
			offset = max(offset, u.ID+1)
		}
	}
}

// readUpdate reads an update. Of one of a shape that is not known only the number is left: it
// must not stop all others.
func readUpdate(raw json.RawMessage) (u update) {
	if err := json.Unmarshal(raw, &u); err != nil {
		var numbered struct {
			ID int64 `json:"update_id"`
		}
		_ = json.Unmarshal(raw, &numbered)
		return update{ID: numbered.ID}
	}
	return u
}

// ackFor is how long the last acknowledgement may take.
const ackFor = 2 * time.Second

// acknowledge tells Telegram what was taken last, so that the next owner does not
// get it again. What it gets twice is one message to the agent all the same.
func (c *Channel) acknowledge(ctx context.Context, offset int64) {
	if offset == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ackFor)
	defer cancel()
	_ = c.api.call(ctx, "getUpdates", params{"offset": offset, "timeout": 0, "limit": 1}, nil)
}
