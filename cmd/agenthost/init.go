package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"agenthost/config"

	"github.com/spf13/cobra"
)

// schemaFile is written beside the configuration, for editors.
const schemaFile = "agenthost.schema.json"

func (a *app) initCommand() *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Write a configuration to start from",
		Long: `Init writes agenthost.yaml, and its JSON Schema for editors, into the working
folder. It takes the model that it finds: OpenAI's when OPENAI_API_KEY is set,
else the first one of a local Ollama, else one that repeats what it is told.`,
		Example: `  agenthost init
  OPENAI_API_KEY=… agenthost init --force`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.initialize(cmd.Context(), force) },
	}
	cmd.Flags().BoolVar(&force, "force", false, "overwrite agenthost.yaml")
	return cmd
}

func (a *app) initialize(ctx context.Context, force bool) error {
	found := findModel(ctx, a.getenv)
	if err := writeNew(defaultConfig, starter(found), force); err != nil {
		return err
	}
	schema, err := config.Schema()
	if err != nil {
		return err
	}
	if err := os.WriteFile(schemaFile, schema, 0o644); err != nil {
		return fmt.Errorf("write schema: %w", err)
	}
	if a.json {
		return a.printJSON(map[string]string{
			"config": defaultConfig, "schema": schemaFile, "provider": found.provider, "model": found.model, "found": found.why,
		})
	}
	fmt.Fprintf(a.stdout, "wrote %s and %s\n", defaultConfig, schemaFile)
	fmt.Fprintln(a.stdout, aboutModel(found))
	fmt.Fprintln(a.stdout, `next: agenthost chat, or "agenthost run" to keep it running`)
	return nil
}

func aboutModel(found foundModel) string {
	if found.why == "" {
		return "model: echo, which repeats what it is told, as neither OPENAI_API_KEY nor a local Ollama was found; the file shows others"
	}
	return fmt.Sprintf("model: %s, as there is %s", found.model, found.why)
}

// writeNew writes a file that, unless force says so, is not there yet.
func writeNew(path, text string, force bool) error {
	flags := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if force {
		flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	f, err := os.OpenFile(path, flags, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is here already; --force overwrites it", path)
	}
	if err != nil {
		return fmt.Errorf("write configuration: %w", err)
	}
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write configuration: %w", err)
	}
	return nil
}

// starter is the configuration to start from.
func starter(found foundModel) string {
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
func flow(m foundModel) string {
	parts := []string{"provider: " + m.provider}
	for _, p := range []struct{ key, value string }{
		{"model", m.model}, {"api_key", m.apiKey}, {"base_url", m.baseURL},
	} {
		if p.value != "" {
			parts = append(parts, p.key+": "+strconv.Quote(p.value))
		}
	}
	return "{" + strings.Join(parts, ", ") + "}"
}
