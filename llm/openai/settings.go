package openai

import (
	"strings"

	"agenthost/llm"
)

// Settings are the fields of a request that come from the config; none is sent
// that is not configured.
type settings struct {
	MaxTokens     int      `json:"max_tokens,omitempty"`
	MaxCompletion int      `json:"max_completion_tokens,omitempty"`
	Temperature   *float64 `json:"temperature,omitempty"`
	Effort        string   `json:"reasoning_effort,omitempty"`
}

// settingsOf has the bound of an answer under the name that the server knows:
// OpenAI's newer models refuse the old one, and most others know nothing else.
func settingsOf(cfg llm.Config, host string) settings {
	s := settings{Temperature: cfg.Temperature, Effort: string(cfg.Effort)}
	if host == "api.openai.com" || strings.HasSuffix(host, ".api.openai.com") || strings.HasSuffix(host, ".azure.com") {
		s.MaxCompletion = cfg.MaxTokens
	} else {
		s.MaxTokens = cfg.MaxTokens
	}
	return s
}
