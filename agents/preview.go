package agents

import (
	"encoding/json"
)

// A Preview is what an agent's model gets with each call, besides the
// conversation.
type Preview struct {
	Agent    string          `json:"agent"`
	Models   []string        `json:"models"` // the entries that answer, in turn
	Behavior bool            `json:"behavior,omitempty"`
	System   string          `json:"system"`
	Tools    []PreviewTool   `json:"tools"`
	Output   json.RawMessage `json:"output_schema,omitempty"`
	// Bindings are those whose messages are answered otherwise.
	Bindings []BindingPreview `json:"bindings,omitempty"`
}

// A BindingPreview is what is sent for the messages of one binding.
type BindingPreview struct {
	Subject string        `json:"subject"`
	Models  []string      `json:"models"`
	System  string        `json:"system"`
	Tools   []PreviewTool `json:"tools"`
}

// A PreviewTool is a tool as a model gets it.
type PreviewTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema,omitempty"`
}
