package main

import (
	"fmt"

	"agenthost/config"

	"github.com/spf13/cobra"
)

func (a *app) configCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:     "config",
		Short:   "Show the configuration that counts",
		Example: "  agenthost config show",
	}, a.configShowCommand())
}

func (a *app) configShowCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Print the configuration as a host reads it",
		Long: `Show prints what counts after all files are merged, variables replaced, defaults
set, and flags and environment have had their say of NATS. Secrets are masked: what
stands under a key such as token, password or api_key, and passwords in addresses.`,
		Example: `  agenthost config show
  agenthost config show -c /etc/agenthost --json`,
		Args: takes(),
		RunE: func(*cobra.Command, []string) error { return a.showConfig() },
	}
	a.configFlag(cmd)
	return cmd
}

func (a *app) showConfig() error {
	cfg, path, err := a.settings()
	if err != nil {
		return err
	}
	if a.json {
		shown, err := config.Masked(cfg)
		if err != nil {
			return err
		}
		return a.printJSON(shown)
	}
	text, err := config.Show(cfg)
	if err != nil {
		return err
	}
	if path == "" {
		fmt.Fprintln(a.stdout, "# no agenthost.yaml here: this is the demo")
	}
	say(a.stdout, "%s", text)
	return nil
}
