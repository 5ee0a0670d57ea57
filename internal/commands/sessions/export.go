package sessions

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"agenthost/client"
	"agenthost/internal/cli"

	"github.com/spf13/cobra"
)

func (a *app) exportCommand() *cobra.Command {
	var run string
	var digest bool
	cmd := a.oneSession(&cobra.Command{
		Use:   "export AGENT KEY",
		Short: "Print a session, one event per line",
		Long: `Export prints the events as they are in the log, each with seq, its commit, n,
its number in there, and of, the run the commit is of. With --digest a last line
has the SHA-256 of all lines before it as a chain: of the digest so far, 32 zero
bytes at first, and the line without its end.`,
		Example: `  agenthost sessions export assistant web/dm/ana > ana.jsonl
  agenthost sessions export assistant web/dm/ana --digest | tail -1`,
	}, func(ctx context.Context, s *client.Sessions, agent, sid string) error {
		return a.export(ctx, s, agent, sid, run, digest)
	})
	a.store.Register(cmd)
	cmd.Flags().StringVar(&run, "run", "", "only the run with that `id`")
	cmd.Flags().BoolVar(&digest, "digest", false, "end with a digest of it all")
	return cmd
}

func (a *app) export(ctx context.Context, s *client.Sessions, agent, sid, run string, digest bool) error {
	out := bufio.NewWriter(a.Stdout)
	var sum [sha256.Size]byte
	events := 0
	for f, err := range s.Events(ctx, agent, sid, run) {
		if err != nil {
			return err
		}
		line, err := json.Marshal(f)
		if err != nil {
			return fmt.Errorf("export event %d.%d: %w", f.Seq, f.N, err)
		}
		sum = sha256.Sum256(append(sum[:], line...))
		events++
		if cli.IsTerminal(a.Stdout) { // a file gets the bytes that were hashed
			line = cli.PrintableJSON(line)
		}
		_, _ = out.Write(append(line, '\n')) // Flush returns the error
	}
	if digest {
		fmt.Fprintf(out, `{"digest":"sha256:%s","events":%d}`+"\n", hex.EncodeToString(sum[:]), events)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("print export: %w", err)
	}
	return nil
}
