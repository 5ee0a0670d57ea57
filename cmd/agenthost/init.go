package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"agenthost/config"
	"agenthost/internal/atomicfile"
	"agenthost/internal/cli"
	"agenthost/internal/starter"

	"github.com/spf13/cobra"
)

// What init writes beside the configuration.
const (
	schemaFile    = "agenthost.schema.json" // for editors
	secretsFolder = "secrets"               // a file each, for this user only
)

// An initializing is the arguments of init.
type initializing struct {
	force    bool
	noCheck  bool
	model    string
	channels []string
	set      []string
	setFile  []string
}

func (a *app) initCommand() *cobra.Command {
	in := initializing{}
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Write a configuration to start from",
		Long: `Init writes agenthost.yaml, and its JSON Schema for editors, into the working
folder. On a terminal it asks which model and which channels, and tries each token
and password at once. Without a terminal, or with one of its flags, it asks nothing:
it takes the model that it finds (OpenAI's when OPENAI_API_KEY is set, else the first
one of a local Ollama, else one that repeats what it is told) and the channels named,
else the chat page.

A secret goes to a file of its own below secrets/, which only this user can read; a
value such as '${TELEGRAM_TOKEN}' stays in the configuration as that.`,
		Example: `  agenthost init
  OPENAI_API_KEY=… agenthost init --force
  agenthost init --model anthropic/claude-haiku-4-5 --set 'model.api_key=${ANTHROPIC_API_KEY}' --channel web
  agenthost init --channel telegram.sales --set 'telegram.sales.token=${TELEGRAM_TOKEN}'
  agenthost init --channel irc --set irc.server=irc.libera.chat:6697 --set irc.nick=ana --set-file irc.password=password.txt`,
		Args: cli.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.initialize(cmd.Context(), in) },
	}
	cmd.Flags().BoolVar(&in.force, "force", false, "overwrite agenthost.yaml")
	cmd.Flags().StringVar(&in.model, "model", "", "the `provider/model`, such as openai/gpt-5-mini, ollama/llama3.2:3b or echo (default: what is found)")
	cmd.Flags().StringArrayVar(&in.channels, "channel", nil, "a `channel` with the name of the account, such as web or telegram.sales; again for more")
	cmd.Flags().StringArrayVar(&in.set, "set", nil, "a `key=value` of the model or of a channel, such as telegram.sales.token=…; again for more")
	cmd.Flags().StringArrayVar(&in.setFile, "set-file", nil, "a `key=file` that holds such a value")
	cmd.Flags().BoolVar(&in.noCheck, "no-check", false, "write what is given without trying it")
	return cmd
}

// asks reports whether a person can be asked, and something is missing.
func (a *app) asks(in initializing) bool {
	given := in.model != "" || len(in.channels) > 0 || len(in.set)+len(in.setFile) > 0 || in.noCheck
	return !given && !a.JSON && cli.IsTerminal(a.Stdin) && cli.IsTerminal(a.Stdout)
}

func (a *app) initialize(ctx context.Context, in initializing) error {
	if _, err := os.Stat(cli.DefaultConfig); err == nil && !in.force { // before anything is asked
		return alreadyHere(cli.DefaultConfig)
	}
	choice, err := a.chosen(ctx, in)
	if err != nil {
		return err
	}
	secrets := map[string]string{}
	text := choice.Config(schemaFile, func(name, value string) string {
		secrets[name] = value
		return `"${file:` + secretsFolder + "/" + name + `}"`
	})
	if err := writeAll(text, secrets, in.force); err != nil {
		return err
	}
	return a.printInitialized(choice, len(secrets))
}

// chosen is what the configuration is to have: as asked, as flags say, or as found.
func (a *app) chosen(ctx context.Context, in initializing) (starter.Choice, error) {
	if a.asks(in) {
		return a.interview(ctx)
	}
	choice, err := in.choice(ctx, a.Getenv)
	if err != nil || in.noCheck {
		return choice, err
	}
	for _, one := range parts(choice) {
		if err := a.try(ctx, one); err != nil {
			if cli.IsUsage(err) {
				return choice, err
			}
			return choice, fmt.Errorf("%w; --no-check writes it all the same", err)
		}
	}
	return choice, nil
}

func (a *app) printInitialized(choice starter.Choice, secrets int) error {
	found := choice.Model
	var names []string
	for _, one := range choice.Accounts {
		names = append(names, one.Name())
	}
	if a.JSON {
		return a.PrintJSON(map[string]any{
			"config": cli.DefaultConfig, "schema": schemaFile, "provider": found.Provider, "model": found.Name, "found": found.Why, "channels": append([]string{}, names...),
		})
	}
	fmt.Fprintf(a.Stdout, "wrote %s and %s\n", cli.DefaultConfig, schemaFile)
	if secrets > 0 {
		fmt.Fprintf(a.Stdout, "wrote %s below %s, for you only\n", cli.Count(secrets, "secret"), secretsFolder)
	}
	fmt.Fprintln(a.Stdout, aboutModel(found))
	if len(names) > 0 {
		fmt.Fprintln(a.Stdout, "channels: "+strings.Join(names, ", "))
	}
	fmt.Fprintln(a.Stdout, `next: agenthost chat, or "agenthost run" to keep it running`)
	return nil
}

func aboutModel(found starter.Model) string {
	switch {
	case found.Given:
		return "model: " + strings.TrimSuffix(found.Provider+"/"+found.Name, "/")
	case found.Why == "":
		return "model: echo, which repeats what it is told, as neither OPENAI_API_KEY nor a local Ollama was found; the file shows others"
	}
	return fmt.Sprintf("model: %s, as there is %s", found.Name, found.Why)
}

// An output is a file that init writes.
type output struct {
	what, path, text string
	mode             fs.FileMode
}

// writeAll writes the configuration, its schema and its secrets: all of them have room before one
// of them replaces what was there.
func writeAll(text string, secrets map[string]string, force bool) error {
	schema, err := config.Schema()
	if err != nil {
		return err
	}
	outputs := []output{
		{"configuration", place(cli.DefaultConfig), text, modeOf(cli.DefaultConfig)},
		{"schema", place(schemaFile), string(schema), 0o644},
	}
	if len(secrets) > 0 {
		if err := os.MkdirAll(secretsFolder, 0o700); err != nil {
			return fmt.Errorf("write secrets: %w", err)
		}
	}
	for name, value := range secrets {
		outputs = append(outputs, output{"secret", filepath.Join(secretsFolder, name), value, 0o600})
	}
	var written []*atomicfile.File
	defer func() {
		for _, f := range written {
			f.Discard()
		}
	}()
	for _, o := range outputs {
		f, err := o.write()
		if err != nil {
			return fmt.Errorf("write %s: %w", o.what, err)
		}
		written = append(written, f)
	}
	if _, err := os.Lstat(cli.DefaultConfig); err == nil && !force { // since it was looked for
		return alreadyHere(cli.DefaultConfig)
	}
	for i, f := range slices.Backward(written) { // the configuration, which names the others, is the last
		if err := f.Replace(); err != nil {
			return fmt.Errorf("write %s: %w", outputs[i].what, err)
		}
	}
	return nil
}

// write writes the file beside its place.
func (o output) write() (*atomicfile.File, error) {
	if info, err := os.Stat(o.path); err == nil && info.IsDir() { // which none of them can replace
		return nil, fmt.Errorf("%s is a folder", o.path)
	}
	return atomicfile.New(o.path, []byte(o.text), o.mode)
}

// place is where a file is that path may be a link to.
func place(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// modeOf are the permissions of the file that is replaced, or those of a new one.
func modeOf(path string) fs.FileMode {
	if info, err := os.Stat(path); err == nil {
		return info.Mode().Perm()
	}
	return 0o644
}

func alreadyHere(path string) error {
	return fmt.Errorf("%s exists; use --force to overwrite it", path)
}
