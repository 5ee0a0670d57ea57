package message

import (
	"cmp"
	"encoding/json"

	"agenthost/bus"
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
	return it.Changed() == other.Input.ID && Sender(in) == Sender(other.Origin.Inbound)
}

// Changed is the id of the message that it changes, as the log of its session has it.
func (it *Item) Changed() string {
	id := cmp.Or(it.Origin.Inbound.Edits, it.Origin.Inbound.Withdraws)
	if it.Input.Sent == "" {
		return id
	}
	return it.Origin.Key("").Account(id)
}

// Edit puts what the person says now in the place of what they said. Anything else of
// the envelope stays as it was written, numbers too. The before_message hooks have seen
// that, or see it with the message.
func (it *Item) Edit(edit *Item) error {
	by := edit.Origin.Inbound
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(it.Input.Envelope, &fields); err != nil {
		return err
	}
	in := *it.Origin.Inbound
	in.Text, in.Media = by.Text, by.Media
	if err := replaceContent(fields, in.Text, in.Media); err != nil {
		return err
	}
	envelope, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	if it.unedited == nil {
		it.unedited = &unedited{envelope: it.Input.Envelope, checked: it.Input.Checked, inbound: it.Origin.Inbound, screened: it.Screened.Load()}
	}
	it.Input.Envelope, it.Origin.Inbound = envelope, &in
	it.Input.Checked = edit.Input.Checked || edit.Screened.Load() != nil
	it.Screened.Store(nil)
	return nil
}

// An unedited message is what it was before its edits.
type unedited struct {
	envelope json.RawMessage
	checked  bool
	inbound  *bus.Inbound
	screened *Screening
}

// Unedit takes back all edits of it.
func (it *Item) Unedit() {
	before := it.unedited
	if before == nil {
		return
	}
	it.Input.Envelope, it.Input.Checked, it.Origin.Inbound = before.envelope, before.checked, before.inbound
	it.Screened.Store(before.screened)
	it.unedited = nil
}

// replaceContent gives the fields of an envelope another text and other media.
func replaceContent(fields map[string]json.RawMessage, text string, media []bus.Media) (err error) {
	if fields["text"], err = json.Marshal(text); err != nil || len(media) == 0 {
		delete(fields, "media")
		return err
	}
	fields["media"], err = json.Marshal(media)
	return err
}
