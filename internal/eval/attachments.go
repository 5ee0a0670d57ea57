package eval

import (
	"slices"

	"agenthost/llm"
)

// linked are messages without the addresses that a run does not give to a model either: a
// server on this machine would open its own files. The model is told of the attachment.
func linked(messages []llm.Message) []llm.Message {
	messages = slices.Clone(messages)
	for i := range messages {
		m := &messages[i]
		if !slices.ContainsFunc(m.Media(), unlinked) {
			continue
		}
		m.Parts = slices.Clone(m.Parts)
		for k, p := range m.Parts {
			if p.Media != nil && unlinked(p.Media) {
				mentioned := *p.Media
				mentioned.URL = ""
				m.Parts[k].Media = &mentioned
			}
		}
	}
	return messages
}

func unlinked(m *llm.Media) bool { return !m.Linked() }
