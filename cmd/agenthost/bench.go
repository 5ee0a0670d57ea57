package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"agenthost/bench"
	"agenthost/bus"
	"agenthost/internal/cli"
	"agenthost/internal/terminal"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
)

// benching is the arguments of bench.
type benching struct {
	bench.Options
	idle    int
	channel string
	sync    string
	model   cli.Choice
}

// benchSync is what --sync interval stands for: what NATS does by itself.
const benchSync = "2m"

func (a *app) benchCommand() *cobra.Command {
	b := benching{model: cli.Choice{Value: bench.ModelEcho, Among: []string{bench.ModelEcho, bench.ModelOpenAI}}}
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure a host, and compare it with bare JetStream",
		Long: `Bench sends messages to a host, and in turns to a program that only echoes them
over JetStream. It prints throughput, latency, CPU and memory of both, the host's
as a share of the echo's, and how many messages were lost, answered twice or out
of order. Each round starts a host and an echo as processes of their own, with a
store that is deleted afterwards. With -s it measures the running hosts, whose
agents must take --channel and answer each message once.

It exits with 1 when a message was lost, answered twice or out of order.`,
		Example: `  agenthost bench
  agenthost bench --rate 200 --duration 30s --sync interval
  agenthost bench --model openai --concurrency 16 --model-delay 1.5s --messages 200
  agenthost bench --idle 1000
  agenthost bench -s nats://10.0.0.5:4222 --channel web --messages 1000`,
		Args: cli.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.bench(cmd.Context(), cmd.Flags().Changed, b) },
	}
	flags := cmd.Flags()
	flags.IntVar(&b.Sessions, "sessions", 500, "how many conversations there are")
	flags.IntVar(&b.Agents, "agents", 4, "how many agents there are")
	flags.IntVar(&b.Messages, "messages", 0, "messages a round, instead of --duration")
	flags.DurationVar(&b.Duration, "duration", 0, "how long a round sends messages (default 5s)")
	flags.Float64Var(&b.Rate, "rate", 0, "messages a second (default as fast as they are answered)")
	flags.IntVar(&b.Concurrency, "concurrency", 512, "messages that may wait for their answers, without --rate")
	flags.IntVar(&b.Size, "size", 32, "`bytes` of text of a message")
	flags.IntVar(&b.Tools, "tools", 0, "tool calls a run, of the model openai")
	flags.IntVar(&b.Window, "window", 0, "`tokens` of the model's window, by which sessions are compacted (default 100000)")
	flags.Var(&b.model, "model", "openai is a server that bench itself is")
	flags.DurationVar(&b.ModelDelay, "model-delay", 0, "what the model openai takes to its first word")
	flags.StringVar(&b.sync, "sync", "always", "when NATS writes to the disk: always, or interval (2m)")
	flags.IntVar(&b.Rounds, "rounds", 3, "how many rounds; the median is printed")
	flags.BoolVar(&b.NoRaw, "no-raw", false, "leave the echo out")
	flags.DurationVar(&b.Quiet, "quiet", 10*time.Second, "without any answer for so long, the rest is lost")
	flags.IntVar(&b.idle, "idle", 0, "measure a host of `N` agents that gets no messages")
	flags.StringVar(&b.channel, "channel", "", "with -s: the channel, or channel.instance, of agents that run")
	flags.StringVar(&b.NATSServer, "nats-server", "", "start this nats-server `binary` instead of the embedded one")
	flags.StringVar(&b.Dir, "dir", "", "`folder` for the stores (default the system's for temporary files)")
	a.ConfigFlag(cmd)
	cmd.AddCommand(a.benchEchoCommand())
	return cmd
}

// benchEchoCommand is what bench starts beside the host.
func (a *app) benchEchoCommand() *cobra.Command {
	cfg, agents := bus.Config{}, 0
	cmd := &cobra.Command{
		Use:     "echo",
		Short:   "Answer messages on bare JetStream, as bench compares with",
		Hidden:  true,
		Example: `  agenthost bench echo --store data`,
		Args:    cli.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if cfg.Embedded.Store == "" {
				if cfg, err = a.NATSConfig(); err != nil {
					return err
				}
			}
			return bench.Echo(cmd.Context(), cfg, agents, a.Stdin, a.Stderr)
		},
	}
	cfg.Embedded.Listen = new("127.0.0.1:0")
	cmd.Flags().IntVar(&agents, "agents", 4, "for how many agents there are subjects")
	cmd.Flags().StringVar(&cfg.Embedded.Store, "store", "", "folder of an embedded NATS")
	cmd.Flags().StringVar(&cfg.Embedded.Sync, "sync", "", "when it writes to the disk")
	a.ConfigFlag(cmd)
	return cmd
}

func (a *app) bench(ctx context.Context, given func(flag string) bool, b benching) (err error) {
	if b.Program, err = os.Executable(); err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	b.Log, b.Model = zerolog.Nop(), b.model.Value
	b.Sync = b.sync
	if b.sync == "interval" {
		b.Sync = benchSync
	} else if d, err := time.ParseDuration(b.sync); b.sync != "always" && (err != nil || d <= 0) {
		return cli.Usage("--sync %q: want always, interval, or a time such as 2m", b.sync)
	}
	if given("idle") {
		return a.benchIdle(ctx, b)
	}
	if b.channel != "" || a.NATS.External() {
		stop, err := a.benchRunning(ctx, given, &b)
		if err != nil {
			return err
		}
		defer stop()
	}
	if err := b.Check(); err != nil {
		return cli.Usage("%v", err)
	}
	clear := a.benchProgress(&b.Options)
	report, err := bench.Run(ctx, b.Options)
	clear()
	if err != nil {
		return err
	}
	if err := a.printBench(report); err != nil {
		return err
	}
	faults := report.Host.Faults
	if faults.Any() {
		return errors.New("what an agent was sent is not answered once, in order and without an error; see above")
	}
	return nil
}

// benchRunning makes b one of hosts that run already.
func (a *app) benchRunning(ctx context.Context, given func(string) bool, b *benching) (stop func(), err error) {
	if b.channel == "" {
		return nil, cli.Usage("-s: name with --channel where the agents of that NATS take messages")
	}
	for _, flag := range []string{"agents", "model", "model-delay", "tools", "window", "sync", "nats-server", "dir"} {
		if given(flag) {
			return nil, cli.Usage("--%s is of a private host; a running one is as it is", flag)
		}
	}
	c, err := a.Connect(ctx)
	if err != nil {
		return nil, err
	}
	b.NC, b.JS, b.Channel, b.Agents = c.NATS(), c.JetStream(), b.channel, 1
	f := a.NATS
	for name, value := range map[string]string{
		"NATS_URL": f.URL, "NATS_CONTEXT": f.Context, "NATS_CREDS": f.Creds, "NATS_NKEY": f.NKey,
		"NATS_USER": f.User, "NATS_PASSWORD": f.Password, "NATS_TOKEN": f.Token,
	} {
		if value == "" {
			value = a.Getenv(name)
		}
		if value != "" {
			b.Connect = append(b.Connect, name+"="+value)
		}
	}
	if a.ConfigPath != "" {
		b.ConnectArgs = []string{"-c", a.ConfigPath}
	}
	return c.Close, nil
}

func (a *app) benchIdle(ctx context.Context, b benching) error {
	if b.idle < 1 || a.NATS.External() {
		return cli.Usage("--idle %d: want 1 agent or more, and no -s: the host is one of its own", b.idle)
	}
	clear := a.benchProgress(&b.Options)
	report, err := bench.Idle(ctx, b.Options, b.idle)
	clear()
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(report)
	}
	return report.Write(a.Stdout)
}

func (a *app) printBench(r bench.Report) error {
	if a.JSON {
		return a.PrintJSON(r)
	}
	const wide = 80
	return r.Write(a.Stdout, wide)
}

// benchProgress shows a bar on a terminal; clear takes it away.
func (a *app) benchProgress(opt *bench.Options) (clear func()) {
	if !cli.IsTerminal(a.Stderr) {
		return func() {}
	}
	const wide = 40
	opt.Progress = func(p bench.Progress) {
		full := int(p.Part * wide)
		fmt.Fprintf(a.Stderr, "%s%-12s %s%s %3.0f %%  %d", terminal.ClearLine, p.What,
			strings.Repeat("█", full), strings.Repeat("░", wide-full), 100*p.Part, p.Done)
	}
	return func() { fmt.Fprint(a.Stderr, terminal.ClearLine) }
}
