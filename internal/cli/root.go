package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

// Root makes root the command above all others: it gets the flags that they
// share, help and completion.
func (a *App) Root(root *cobra.Command) *cobra.Command {
	root.SilenceErrors, root.SilenceUsage = true, true
	root.PersistentPreRun = func(*cobra.Command, []string) { a.started = true }
	root.PersistentFlags().BoolVar(&a.JSON, "json", false, "print the result as JSON")
	a.NATS.register(root.PersistentFlags())
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return plainValue(err) })
	root.PersistentFlags().SortFlags = false
	strictHelp(root)
	a.strictHelpFlag(root)
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
