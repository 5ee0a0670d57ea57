// Package commands has the commands that look into a running fleet and steer it: flags
// and printing over package client.
package commands

import (
	"agenthost/internal/cli"
	"agenthost/internal/commands/sessions"

	"github.com/spf13/cobra"
)

// An app is one call of the program.
type app struct{ *cli.App }

// All are the commands of one call of the program.
func All(call *cli.App) []*cobra.Command {
	a := &app{App: call}
	return []*cobra.Command{
		a.agentsCommand(), a.modelsCommand(), a.channelsCommand(), a.approvalsCommand(), a.pairingsCommand(),
		a.runsCommand(), a.pauseCommand(), a.resumeCommand(), a.fleetCommand(), a.drainCommand(), a.whyCommand(), a.deadCommand(),
		sessions.Command(call), a.schedulesCommand(), a.memoryCommand(), a.shadowCommand(), a.tokensCommand(),
		a.auditCommand(), a.reloadCommand(), a.scrubCommand(), a.eraseCommand(), a.backupCommand(), a.restoreCommand(), a.probeCommand(),
	}
}
