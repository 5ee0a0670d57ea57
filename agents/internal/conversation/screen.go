package conversation

import (
	"agenthost/agents/internal/inflight"
	"agenthost/agents/internal/message"
	"agenthost/hooks"
	"agenthost/run"
	"agenthost/session"
)

// The before_message hooks judge each message, also where one run is to answer several: what they
// refuse is answered by itself, and the run answers the others. A message that has a run of its own
// is for that to refuse. An edit that they refuse leaves its message as it was.

// leaveOutRefused has the hooks see what the run of that id is to answer, and returns what they
// leave of it.
func (c *Conversation) leaveOutRefused(journal *session.Log, id string, items []*message.Item) (left []*message.Item) {
	last := items[len(items)-1]
	if len(items) == 1 || !c.Hooked(hooks.BeforeMessage) || last.Drops() || c.shared.IsRetired() {
		return items
	}
	refused := c.refusedEdits(id, items)
	messages := 0
	for _, it := range items {
		if !it.Changes() {
			messages++
		}
	}
	if messages > 1 {
		c.refusedMessages(id, items, refused)
	}
	if c.Agent.Work.Err() != nil { // the hooks had no time, and the run does not begin
		return items
	}
	for _, it := range items {
		if why := refused[it]; why != nil {
			c.refuse(journal, it, why)
		} else {
			left = append(left, it)
		}
	}
	return left
}

// refusedEdits are the edits that the hooks refuse, each with the reason. Their messages are as the
// others leave them.
func (c *Conversation) refusedEdits(id string, items []*message.Item) map[*message.Item]*run.Error {
	refused := map[*message.Item]*run.Error{}
	for _, it := range items {
		if !it.Changes() {
			continue
		}
		if s := c.Screen(c.Agent.Work, it, id); s != nil && s.Refused != "" {
			refused[it] = inflight.RefusedByHook(s.Refused)
		}
	}
	for edit := range refused {
		for _, it := range items {
			if edit.ChangesOf(it) {
				c.editAnew(it, items, refused)
			}
		}
	}
	return refused
}

// editAnew makes the edits of a message that are not refused, and no other.
func (c *Conversation) editAnew(it *message.Item, items []*message.Item, refused map[*message.Item]*run.Error) {
	it.Unedit()
	for _, edit := range items {
		if !edit.ChangesOf(it) || refused[edit] != nil {
			continue
		}
		edit.Use(edit.Screened.Load())
		if err := it.Edit(edit); err != nil {
			c.Log().Error().Err(err).Str("id", it.Input.ID).Msg("edit message: its envelope cannot be written; it stays as it was")
			refused[edit] = c.reader().Mistake(edit, "change_too_late")
		}
	}
}

// refusedMessages adds the messages that the hooks refuse to refused, with their edits.
func (c *Conversation) refusedMessages(id string, items []*message.Item, refused map[*message.Item]*run.Error) {
	for _, it := range items {
		if it.Changes() {
			continue
		}
		s := c.Screen(c.Agent.Work, it, id)
		if s == nil || s.Refused == "" {
			continue
		}
		refused[it] = inflight.RefusedByHook(s.Refused)
		for _, edit := range items {
			if edit.ChangesOf(it) && refused[edit] == nil {
				refused[edit] = refused[it]
			}
		}
	}
}
