package starter

import (
	"strconv"
	"strings"
)

// Config is the configuration to start from, with the name of its schema.
func Config(found Model, schemaFile string) string {
	return "# yaml-language-server: $schema=./" + schemaFile + `

# NATS runs inside agenthost and keeps everything in ./data.
# With a NATS of your own:
# nats:
#   url: nats://127.0.0.1:4222

models:
  main: ` + flow(found) + otherModels + `
agents:
  - id: assistant
    description: Answers questions.
    model: main
    instructions: |
      You are a friendly assistant. Answer briefly.
    # Where messages come from: plugin.inbound.demo, as in
    #   nats pub plugin.inbound.demo 'hello'
    # The answers go to plugin.outbound.demo.
    channels: [demo]
`
}

// otherModels shows what else can stand for the model. What is no key of YAML
// there is a comment within the comment.
const otherModels = `
  # others:
  # main: {provider: openai, model: gpt-5-mini, api_key: "${OPENAI_API_KEY}"}
  # main: {provider: openai, model: "llama3.2:3b", base_url: "http://127.0.0.1:11434/v1"}   # Ollama
  # main: {provider: openai, model: …, api_key: …, base_url: https://…/v1}                  # any compatible server
  # main: {provider: anthropic, model: claude-haiku-4-5, api_key: "${ANTHROPIC_API_KEY}"}
`

// flow is a model in one line of YAML.
func flow(m Model) string {
	parts := []string{"provider: " + m.Provider}
	for _, p := range []struct{ key, value string }{
		{"model", m.Name}, {"api_key", m.APIKey}, {"base_url", m.BaseURL},
	} {
		if p.value != "" {
			parts = append(parts, p.key+": "+strconv.Quote(p.value))
		}
	}
	return "{" + strings.Join(parts, ", ") + "}"
}
