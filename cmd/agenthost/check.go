package main

import (
	"errors"
	"fmt"
	"slices"

	"agenthost/config"

	"github.com/spf13/cobra"
)

func (a *app) checkCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Check a configuration",
		Long: `Check reads a configuration and reports everything that is wrong with it, as
file:line:column: what, and what would be right. What keeps no host from
starting, and is hardly meant, is a warning: it exits with 0.`,
		Example: `  agenthost check
  agenthost check -c /etc/agenthost --json`,
		Args: takes(),
		RunE: func(*cobra.Command, []string) error { return a.check() },
	}
	a.configFlag(cmd)
	return cmd
}

func (a *app) check() error {
	path, err := a.configPath()
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
	if a.json {
		return a.printProblems(err)
	}
	if wrong, ok := errors.AsType[*config.FileError](err); ok { // they are the result
		say(a.stdout, "%v\n", wrong)
		return errReported
	}
	if err != nil {
		return err
	}
	for _, p := range cfg.Warnings {
		fmt.Fprintf(a.stdout, "%s\n", p.Warning())
	}
	if len(cfg.Agents) == 0 {
		fmt.Fprintf(a.stdout, "%s: warning: there is no agent, and the host would do nothing; add one under agents:\n", path)
	}
	fmt.Fprintf(a.stdout, "%s: ok (%s, %s)\n", path, count(len(cfg.Agents), "agent"), count(len(cfg.Models), "model"))
	return nil
}

func (a *app) printProblems(err error) error {
	problems := []config.Problem{}
	if wrong, ok := errors.AsType[*config.FileError](err); ok {
		problems = wrong.Problems
	} else if err != nil {
		return err
	}
	if failed := a.printJSON(problems); failed != nil {
		return failed
	}
	if err != nil {
		return errReported
	}
	return nil
}

// leftOut are the skills, hooks and output schemas that are an error here; a host
// goes on without them, and without an agent whose answers it cannot check.
func leftOut(cfg *config.Config) error {
	if list := slices.Concat(cfg.SkillFaults(), cfg.HookFaults, cfg.SchemaFaults); len(list) > 0 {
		return &config.FileError{Problems: list}
	}
	return nil
}

// count is n and what is counted.
func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
