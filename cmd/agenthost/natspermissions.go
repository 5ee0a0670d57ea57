package main

import (
	"fmt"
	"strings"

	"agenthost/bus/permissions"
	"agenthost/config"
	"agenthost/internal/cli"

	"github.com/spf13/cobra"
)

func (a *app) natsPermissionsCommand() *cobra.Command {
	var role string
	var asJWT, streams bool
	cmd := &cobra.Command{
		Use:   "nats-permissions",
		Short: "Print the NATS permissions that a role needs",
		Long: `Nats-permissions prints the least permissions that a role needs, as the block
permissions of a user in the configuration of nats-server. Each role has an inbox
prefix of its own, so that none reads the answers of another: hosts and commands
take it from nats.inbox_prefix or from their NATS context, other programs from an
option of their client. The list of hosts depends on the configuration.`,
		Example: `  agenthost nats-permissions --for host -c /etc/agenthost
  agenthost nats-permissions --for plugin:telegram.sales --streams
  agenthost nats-permissions --for program:ana --jwt`,
		Args: cli.Takes(),
		RunE: func(*cobra.Command, []string) error {
			if role == "" {
				return cli.Usage("--for is missing: want host, cli, auditor, caller, plugin:CHANNEL, plugin:CHANNEL.INSTANCE, program:AGENT or hook:SUBJECT")
			}
			fleet, err := a.fleetOf(role)
			if err != nil {
				return err
			}
			r, err := permissions.RoleOf(role, fleet)
			if err != nil {
				return cli.Usage("--for: %v", err)
			}
			if streams && !strings.HasPrefix(role, "plugin:") {
				return cli.Usage("--streams is for plugins: hosts, cli and auditor have the streams, a program, hook or caller has none")
			}
			if streams {
				r = r.WithStreams()
			}
			if asJWT || a.JSON {
				return a.PrintJSON(r.Claims())
			}
			fmt.Fprint(a.Stdout, r)
			return nil
		},
	}
	cmd.Flags().StringVar(&role, "for", "", "`role`: host, cli, auditor, caller, plugin:CHANNEL[.INSTANCE], program:AGENT or hook:SUBJECT")
	_ = cmd.RegisterFlagCompletionFunc("for", cobra.FixedCompletions( // the flag is there
		[]string{"host", "cli", "auditor", "caller", "plugin:", "program:", "hook:"}, cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveNoSpace))
	cmd.Flags().BoolVar(&asJWT, "jwt", false, "print the claims of a user JWT")
	cmd.Flags().BoolVar(&streams, "streams", false, "for a plugin: also the streams of what models say")
	a.ConfigFlag(cmd)
	return cmd
}

// fleetOf is what the configuration says of the fleet; only hosts need more than
// the domain of it.
func (a *app) fleetOf(role string) (permissions.Fleet, error) {
	if role != "host" {
		cfg, err := a.NATSAddress()
		return permissions.Fleet{Domain: cfg.Domain}, err
	}
	cfg, _, err := a.Settings()
	if err != nil {
		return permissions.Fleet{}, err
	}
	return permissions.Fleet{Domain: cfg.NATS.Domain, Agents: agentIDs(cfg), Subjects: namedSubjects(cfg)}, nil
}

func agentIDs(cfg *config.Config) (ids []string) {
	for _, agent := range cfg.Agents {
		ids = append(ids, agent.ID)
	}
	return ids
}

// namedSubjects are those that hosts use because the configuration names them.
func namedSubjects(cfg *config.Config) (subjects []string) {
	for _, h := range cfg.Hooks {
		subjects = append(subjects, h.Subject)
	}
	for _, agent := range cfg.Agents {
		for _, e := range agent.Events {
			subjects = append(subjects, e.Subject)
		}
	}
	return subjects
}
