package commands

import (
	"context"
	"errors"
	"fmt"
	"time"

	"agenthost/bus"
	"agenthost/client"
	"agenthost/internal/backup"
	"agenthost/internal/cli"
	"agenthost/internal/natsserver"
	"agenthost/internal/terminal"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/spf13/cobra"
)

func (a *app) backupCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "backup DIR",
		Short: "Back up all that a fleet keeps in NATS",
		Long: `Backup copies all streams, buckets and files of a fleet into the folder DIR, which
has to be empty or not to be there. Hosts may work meanwhile: all that was stored
when the backup began is in it. The folder has what people and agents have said,
and the key of the fleet: keep it as secret as NATS itself.

On a NATS with permissions it needs those of an administrator of the account. The
workspaces of agents and the configuration are not in NATS, and not in the backup.`,
		Example: `  agenthost backup /backup/monday
  agenthost backup /backup/monday -s nats://10.0.0.5:4222 --json`,
		Args: cli.Takes("DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.WithClient(cmd.Context(), func(c *client.Client) error { return a.backup(cmd.Context(), c, args[0]) })
		},
	}
	a.ConfigFlag(cmd)
	return cmd
}

func (a *app) backup(ctx context.Context, c *client.Client, folder string) error {
	progress, clear := a.backupProgress()
	m, err := backup.Write(ctx, c.JetStream(), folder, backup.Options{Version: a.Version, Progress: progress})
	clear()
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	return a.printBackup(m, "backed up")
}

func (a *app) restoreCommand() *cobra.Command {
	replicas, store := 0, ""
	cmd := &cobra.Command{
		Use:   "restore DIR",
		Short: "Restore a backup into an empty NATS",
		Long: `Restore puts a backup into a NATS that has nothing of a fleet yet, before its first
host starts. All files of the backup are checked before anything is written. A
restore that fails removes what it has made. After one that was killed no host
starts: run it again.

What was not answered at the moment of the backup is answered by the first host.
On a NATS with permissions it needs those of an administrator of the account.`,
		Example: `  agenthost restore /backup/monday -s nats://10.0.0.6:4222
  agenthost restore /backup/monday --replicas 1
  agenthost restore /backup/monday --store ./data`,
		Args: cli.Takes("DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if replicas < 0 {
				return cli.Usage("--replicas: want 0 or more")
			}
			if store != "" {
				if err := cli.NotWithStore(cmd, "server", "context"); err != nil {
					return err
				}
				return a.restoreStore(cmd.Context(), store, args[0], replicas)
			}
			return a.restoreNATS(cmd.Context(), args[0], replicas)
		},
	}
	cmd.Flags().StringVar(&store, "store", "", "the data `folder` of an embedded server, while its host is stopped")
	cmd.Flags().IntVar(&replicas, "replicas", 0, "replicas of each stream (default as many as each had)")
	a.ConfigFlag(cmd)
	return cmd
}

// restoreNATS restores into the NATS that flags, environment or configuration name.
func (a *app) restoreNATS(ctx context.Context, folder string, replicas int) error {
	cfg, err := a.NATSAddress()
	if err != nil {
		return err
	}
	c, err := a.Connect(ctx)
	if !cfg.External() && errors.Is(err, nats.ErrNoServers) { // a host that is started first would fill it
		return fmt.Errorf("restore: no server answers at %s; for an embedded one, name its data folder while its host is stopped: --store %s",
			cfg.Embedded.Reached(), cfg.Embedded.Store)
	}
	if err != nil {
		return err
	}
	defer c.Close()
	return a.restore(ctx, c.JetStream(), folder, replicas)
}

// restoreStore restores into the store of an embedded server, without a host.
func (a *app) restoreStore(ctx context.Context, store, folder string, replicas int) error {
	if _, err := backup.Read(folder); err != nil { // before the store is made
		return fmt.Errorf("restore: %w", err)
	}
	noPort := ""
	b, err := natsserver.Open(ctx, bus.Options{Name: "restore", Config: bus.Config{Embedded: bus.Embedded{Store: store, Listen: &noPort}}})
	if err != nil {
		return fmt.Errorf("restore into %q: %w", store, err)
	}
	defer b.Close()
	return a.restore(ctx, b.JS, folder, replicas)
}

func (a *app) restore(ctx context.Context, js jetstream.JetStream, folder string, replicas int) error {
	progress, clear := a.backupProgress()
	m, err := backup.Restore(ctx, js, folder, backup.Options{Replicas: replicas, Progress: progress})
	clear()
	if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	if m.Stale(time.Now()) {
		a.Warn("the backup is of %s: NATS removes messages by their age, so what was not answered more than %s ago is gone",
			m.Moment.Local().Format(time.DateTime), backup.InboundAge)
	}
	return a.printBackup(m, "restored")
}

func (a *app) printBackup(m backup.Manifest, done string) error {
	if a.JSON {
		return a.PrintJSON(m)
	}
	fmt.Fprintf(a.Stdout, "%s %s, %s, %s, as of %s\n", done, cli.Count(len(m.Streams), "stream"), cli.Count(int(m.Messages), "message"),
		cli.Size(m.Bytes), m.Moment.Local().Format(time.DateTime))
	return nil
}

// backupProgress shows on a terminal how far a backup or a restore is; clear takes that
// away.
func (a *app) backupProgress() (progress func(backup.Progress), clear func()) {
	if !cli.IsTerminal(a.Stderr) {
		return nil, func() {}
	}
	return func(p backup.Progress) {
		fmt.Fprintf(a.Stderr, "%s%s: %d of %d, %s …", terminal.ClearLine, p.Stream, p.Done+1, p.All, cli.Size(p.Bytes))
	}, func() { fmt.Fprint(a.Stderr, terminal.ClearLine) }
}
