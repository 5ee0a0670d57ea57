package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

// root is the command above all others.
func (a *app) root() *cobra.Command {
	root := group(&cobra.Command{
		Use:   "agenthost",
		Short: "Run a fleet of LLM agents on NATS",
		Long: `agenthost runs a fleet of LLM agents on NATS. Messages, runs and replies are
kept in JetStream: what a host was doing when it died, the next one finishes.`,
		Example: `  agenthost chat          talk to an agent here and now
  agenthost init          write a configuration to start from
  agenthost run           serve the agents of ./agenthost.yaml`,
		SilenceErrors:    true,
		SilenceUsage:     true,
		PersistentPreRun: func(*cobra.Command, []string) { a.started = true },
	},
		a.runCommand(), a.chatCommand(), a.sendCommand(), a.agentsCommand(), a.modelsCommand(), a.approvalsCommand(), a.runsCommand(), a.deadCommand(), a.sessionsCommand(),
		a.schedulesCommand(), a.heartbeatCommand(), a.memoryCommand(), a.mcpCommand(), a.shadowCommand(),
		a.initCommand(), a.checkCommand(), a.configCommand(), a.doctorCommand(), a.schemaCommand(), a.lanesCommand(), a.reloadCommand(), a.natsContextCommand(), a.natsPermissionsCommand(), a.benchCommand(), a.versionCommand(),
	)
	root.PersistentFlags().BoolVar(&a.json, "json", false, "print the result as JSON")
	a.nats.register(root.PersistentFlags())
	root.PersistentFlags().SortFlags = false
	strictHelp(root)
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

// strictCompletion makes completion refuse a shell that it does not know, where
// cobra's own shows its help. It writes to what root writes to by then.
func strictCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	completion, _, _ := root.Find([]string{"completion"})
	group(completion)
}

// configFlag gives cmd the flag -c.
func (a *app) configFlag(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&a.config, "config", "c", "", "configuration, a file or a folder (default ./agenthost.yaml)")
}
