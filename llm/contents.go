package llm

// Contents says what messages hold that is not sent to every model as it is. It
// grows with them, so that no caller has to look through a long conversation for
// every call. The zero Contents is that of no messages.
type Contents struct {
	Messages int  // how many it is about
	Stored   bool // there are attachments that a provider cannot be sent by their address

	// All parts that are for one provider only are for Owner, or of unknown
	// origin when that is empty, unless Mixed says otherwise.
	Owned, Mixed bool
	Owner        string
}

// Add counts a message in.
func (c *Contents) Add(m *Message) {
	c.Messages++
	for i := range m.Parts {
		p := &m.Parts[i]
		if p.Media != nil && (p.Media.Object != "" || !p.Media.Linked()) {
			c.Stored = true
		}
		if !owned(p) {
			continue
		}
		c.Mixed = c.Mixed || c.Owned && c.Owner != p.Provider
		c.Owned, c.Owner = true, p.Provider
	}
}

// foreignTo reports whether something is not for the named provider.
func (c Contents) foreignTo(provider string) bool {
	return c.Owned && (c.Mixed || c.Owner != provider || provider == "")
}

// Look is what the messages of r hold: as Contents has it when that is about as
// many, else as they tell themselves.
func (r *Request) Look() Contents {
	if r.Contents.Messages == len(r.Messages) {
		return r.Contents
	}
	return contentsOf(r.Messages)
}

func contentsOf(messages []Message) Contents {
	c := Contents{}
	for i := range messages {
		c.Add(&messages[i])
	}
	return c
}
