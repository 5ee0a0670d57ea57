package agents

// changes reports whether it edits or withdraws another message.
func (it *item) changes() bool {
	in := it.origin.inbound
	return in != nil && (in.Edits != "" || in.Withdraws != "")
}
