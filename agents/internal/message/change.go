package message

import (
	"cmp"
	"encoding/json"
)

// Changes reports whether it edits or withdraws another message.
func (it *Item) Changes() bool {
	in := it.Origin.Inbound
	return in != nil && (in.Edits != "" || in.Withdraws != "")
}

// ChangesOf reports whether it is to change that other input: one of the same sender,
// and not of another stream.
func (it *Item) ChangesOf(other *Item) bool {
	if !it.Changes() || other.Origin.Inbound == nil || other.Changes() || it == other {
		return false
	}
	in := it.Origin.Inbound
	return cmp.Or(in.Edits, in.Withdraws) == other.Input.ID && Sender(in) == Sender(other.Origin.Inbound)
}

// Edit puts what the person says now in the place of what they said. The
// before_message hooks have seen that, or see it with the message.
func (it *Item) Edit(edit *Item) error {
	by := edit.Origin.Inbound
	fields := map[string]any{}
	if err := json.Unmarshal(it.Input.Envelope, &fields); err != nil {
		return err
	}
	in := *it.Origin.Inbound
	in.Text, in.Media = by.Text, by.Media
	fields["text"], fields["media"] = in.Text, in.Media
	if len(in.Media) == 0 {
		delete(fields, "media")
	}
	envelope, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	it.Input.Envelope, it.Origin.Inbound = envelope, &in
	it.Input.Checked = edit.Input.Checked || edit.Screened.Load() != nil
	it.Screened.Store(nil)
	return nil
}
