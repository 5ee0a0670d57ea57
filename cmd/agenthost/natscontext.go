package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"agenthost/internal/cli"
	"agenthost/internal/natscontext"

	"github.com/spf13/cobra"
)

func (a *app) natsContextCommand() *cobra.Command {
	var force, selected bool
	cmd := &cobra.Command{
		Use:   "nats-context [NAME]",
		Short: "Write a context for the nats command",
		Long: `Nats-context writes a context for the nats command, with the address of the
NATS of this configuration and the credentials for it: for the embedded server
the user agenthost and the token in its data folder. With port 0 in
nats.embedded.listen it is for the host that runs: the next has another address.
NAME defaults to agenthost.
Commands of agenthost use the context with --context.`,
		Example: `  agenthost nats-context --select
  nats stream ls
  agenthost nats-context kiwi -c /etc/agenthost && agenthost agents --context kiwi`,
		Args: cli.Takes("[NAME]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := "agenthost"
			if len(args) > 0 {
				name = args[0]
			}
			if name == "" || name != filepath.Base(name) || name[0] == '.' {
				return cli.Usage("context %q: want a name that is also a file name", name)
			}
			return a.writeNATSContext(cmd.Context(), name, force, selected)
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "overwrite a context of that name without asking")
	cmd.Flags().BoolVar(&selected, "select", false, "have the nats command use it by default")
	a.ConfigFlag(cmd)
	return cmd
}

func (a *app) writeNATSContext(ctx context.Context, name string, force, selected bool) error {
	cfg, err := a.NATSConfig()
	if err != nil {
		return err
	}
	nc, err := natscontext.Of(cfg)
	if err != nil {
		return err
	}
	folder, err := natscontext.FolderOf(a.Getenv)
	if err != nil {
		return err
	}
	file := folder.File(name)
	if _, err := os.Lstat(file); err == nil && !force && (!cli.IsTerminal(a.Stdin) || !a.Confirm(ctx, "overwrite the context "+name+"?")) {
		return fmt.Errorf("context %s exists; use --force to overwrite it", name)
	}
	if err := folder.Write(name, nc, selected); err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(map[string]any{"context": name, "file": file, "selected": selected})
	}
	fmt.Fprintf(a.Stdout, "wrote %s\n", file)
	return nil
}
