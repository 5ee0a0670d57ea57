package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"agenthost/config"
	"agenthost/internal/cli"
)

func (a *app) checkCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Check a configuration",
		Long: `Check reads a configuration and reports everything that is wrong with it, as
file:line:column: what, and how to fix it. A warning is what keeps no host from
starting but is probably a mistake. With warnings alone the exit code is 0.`,
		Example: `  agenthost check
  agenthost check -c /etc/agenthost --json`,
		Args: cli.Takes(),
		RunE: func(*cobra.Command, []string) error { return a.check() },
	}
	a.ConfigFlag(cmd)
	return cmd
}

func (a *app) check() error {
	path, err := a.FindConfig()
	if err != nil {
		return err
	}
	if path == "" {
		return errors.New(`no agenthost.yaml in this folder; name a configuration with -c, or write one with "agenthost init"`)
	}
	cfg, err := config.Load(path)
	if err == nil {
		err = leftOut(cfg)
	}
	if a.JSON {
		return a.printProblems(err)
	}
	if wrong, ok := errors.AsType[*config.FileError](err); ok { // they are the result
		cli.Say(a.Stdout, "%v\n", wrong)
		return cli.ErrReported
	}
	if err != nil {
		return err
	}
	for _, p := range cfg.Warnings {
		fmt.Fprintf(a.Stdout, "%s\n", p.Warning())
	}
	if len(cfg.Agents) == 0 {
		fmt.Fprintf(a.Stdout, "%s: warning: there is no agent, and the host would do nothing; add one under agents:\n", path)
	}
	fmt.Fprintf(a.Stdout, "%s: ok (%s, %s)\n", path, cli.Count(len(cfg.Agents), "agent"), cli.Count(len(cfg.Models), "model"))
	return nil
}

func (a *app) printProblems(err error) error {
	problems := []config.Problem{}
	if wrong, ok := errors.AsType[*config.FileError](err); ok {
		problems = wrong.Problems
	} else if err != nil {
		return err
	}
	if failed := a.PrintJSON(problems); failed != nil {
		return failed
	}
	if err != nil {
		return cli.ErrReported
	}
	return nil
}

// leftOut are the skills, hooks and output schemas that are an error here; a host
// goes on without them, and without an agent whose answers it cannot check.
func leftOut(cfg *config.Config) error {
	if len(cfg.LeftOut) > 0 {
		return &config.FileError{Problems: cfg.LeftOut}
	}
	return nil
}

func (a *app) configCommand() *cobra.Command {
	return cli.Group(&cobra.Command{
		Use:     "config",
		Short:   "Show the effective configuration",
		Example: "  agenthost config show",
	}, a.configShowCommand())
}

func (a *app) configShowCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Print the configuration as a host reads it",
		Long: `Show prints the effective configuration: all files merged, variables replaced,
defaults set, and the flags and environment variables for NATS applied. Secrets are
masked: values of keys such as token, password or api_key, passwords in addresses,
and parameters of addresses and arguments of programs with such names.`,
		Example: `  agenthost config show
  agenthost config show -c /etc/agenthost --json`,
		Args: cli.Takes(),
		RunE: func(*cobra.Command, []string) error { return a.showConfig() },
	}
	a.ConfigFlag(cmd)
	return cmd
}

func (a *app) showConfig() error {
	cfg, path, err := a.Settings()
	if err != nil {
		return err
	}
	if a.JSON {
		shown, err := config.Masked(cfg)
		if err != nil {
			return err
		}
		return a.PrintJSON(shown)
	}
	text, err := config.Show(cfg)
	if err != nil {
		return err
	}
	if path == "" {
		fmt.Fprintln(a.Stdout, "# no agenthost.yaml here: this is the demo")
	}
	cli.Say(a.Stdout, "%s", text)
	return nil
}

func (a *app) schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "schema",
		Short:   "Print the JSON Schema of agenthost.yaml",
		Long:    "Schema prints the JSON Schema of agenthost.yaml, with which editors complete and check it.",
		Example: "  agenthost schema > agenthost.schema.json",
		Args:    cli.Takes(),
		RunE: func(*cobra.Command, []string) error {
			schema, err := config.Schema()
			if err != nil {
				return err
			}
			_, err = a.Stdout.Write(schema)
			return err
		},
	}
}
