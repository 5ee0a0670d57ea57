package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"agenthost/config"
	"agenthost/internal/cli"
	"agenthost/internal/starter"

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
		Args: cli.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.initialize(cmd.Context(), force) },
	}
	cmd.Flags().BoolVar(&force, "force", false, "overwrite agenthost.yaml")
	return cmd
}

func (a *app) initialize(ctx context.Context, force bool) error {
	found := starter.FindModel(ctx, a.Getenv)
	if err := writeNew(cli.DefaultConfig, starter.Config(found, schemaFile), force); err != nil {
		return err
	}
	schema, err := config.Schema()
	if err != nil {
		return err
	}
	if err := os.WriteFile(schemaFile, schema, 0o644); err != nil {
		return fmt.Errorf("write schema: %w", err)
	}
	if a.JSON {
		return a.PrintJSON(map[string]string{
			"config": cli.DefaultConfig, "schema": schemaFile, "provider": found.Provider, "model": found.Name, "found": found.Why,
		})
	}
	fmt.Fprintf(a.Stdout, "wrote %s and %s\n", cli.DefaultConfig, schemaFile)
	fmt.Fprintln(a.Stdout, aboutModel(found))
	fmt.Fprintln(a.Stdout, `next: agenthost chat, or "agenthost run" to keep it running`)
	return nil
}

func aboutModel(found starter.Model) string {
	if found.Why == "" {
		return "model: echo, which repeats what it is told, as neither OPENAI_API_KEY nor a local Ollama was found; the file shows others"
	}
	return fmt.Sprintf("model: %s, as there is %s", found.Name, found.Why)
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
