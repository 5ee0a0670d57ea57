package cli

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Root makes root the command above all others: it gets the flags that they
// share, help and completion.
func (a *App) Root(root *cobra.Command) *cobra.Command {
	root.SilenceErrors, root.SilenceUsage = true, true
	root.PersistentPreRun = func(*cobra.Command, []string) { a.started = true }
	root.PersistentFlags().BoolVar(&a.JSON, "json", false, "print the result as JSON")
	a.NATS.register(root.PersistentFlags())
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return a.unknownFlag(cmd, plainValue(err)) })
	root.PersistentFlags().SortFlags = false
	strictHelp(root)
	a.strictHelpFlag(root)
	strictVersion(root)
	a.completeLive(root)
	return root
}

// strictHelp makes help refuse what is no command, where cobra's own shows the
// help of the command above it.
func strictHelp(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	help, _, _ := root.Find([]string{"help"})
	help.Example = "  agenthost help sessions ls"
	help.Args = func(_ *cobra.Command, args []string) error {
		found, rest, err := root.Find(args)
		switch {
		case err != nil || len(rest) == 0:
			return err
		case found.HasSubCommands():
			return found.ValidateArgs(rest)
		}
		return fmt.Errorf("%s has no command %q", found.CommandPath(), rest[0])
	}
}

// strictHelpFlag makes --help refuse what is no command, where cobra shows the help of
// the command above it before it looks at what follows.
func (a *App) strictHelpFlag(root *cobra.Command) {
	show := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		if cmd.HasSubCommands() {
			a.misnamed = cmd.ValidateArgs(cmd.Flags().Args())
		}
		if a.misnamed == nil {
			show(cmd, args)
		}
	})
}

// strictVersion makes --version refuse what is no command, where cobra prints the version before
// it looks at what follows.
func strictVersion(root *cobra.Command) {
	version, run := root.Version, root.RunE
	root.Version = ""
	asked := root.Flags().BoolP("version", "v", false, "version for "+root.Name())
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if !*asked {
			return run(cmd, args)
		}
		_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s version %s\n", root.Name(), version)
		return err
	}
}

// unknownFlag is err, unless it is of a flag beside a word that is no command: a command that exists
// might have that flag.
func (a *App) unknownFlag(cmd *cobra.Command, err error) error {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok || !cmd.HasSubCommands() {
		return err
	}
	if _, rest, _ := cmd.Root().Find(a.args); rest != nil {
		cmd.Flags().ParseErrorsAllowlist.UnknownFlags = true
		_ = cmd.Flags().Parse(rest) // for its arguments
	}
	if noCommand := cmd.ValidateArgs(cmd.Flags().Args()); noCommand != nil {
		return noCommand
	}
	has := func(below *cobra.Command) bool {
		flags, name := below.Flags(), unknown.GetSpecifiedName()
		return flags.Lookup(name) != nil || len(name) == 1 && flags.ShorthandLookup(name) != nil
	}
	if slices.ContainsFunc(cmd.Commands(), has) {
		return fmt.Errorf("%w; it belongs behind the name of a command", err)
	}
	return err
}

// strictCompletion makes completion refuse a shell that it does not know, where
// cobra's own shows its help. It writes to what root writes to by then.
func strictCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	completion, _, _ := root.Find([]string{"completion"})
	Group(completion)
	completion.Example = "  source <(agenthost completion bash)"
	for _, shell := range completion.Commands() {
		shell.Example = "  agenthost completion " + shell.Name()
	}
}

// ConfigFlag gives cmd the flag -c.
func (a *App) ConfigFlag(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&a.ConfigPath, "config", "c", "", "configuration, a file or a folder (default ./agenthost.yaml)")
}
