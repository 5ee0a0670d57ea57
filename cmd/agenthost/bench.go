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
store that is deleted afterwards. With --hosts there are several hosts on one
NATS beside them, with --nats-cluster on three NATS servers and streams with
three replicas. With -s it measures the running hosts, whose agents must take
--channel and answer each message once.

It exits with 1 when a message was lost, answered twice or out of order.`,
		Example: `  agenthost bench
  agenthost bench --rate 200 --duration 30s --sync interval
  agenthost bench --model openai --concurrency 16 --model-delay 1.5s --messages 200
  agenthost bench --hosts 2 --agents 32 --model openai --model-delay 50ms
  agenthost bench --idle 1000
  agenthost bench -s nats://10.0.0.5:4222 --channel web --messages 1000`,
		Args: cli.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.bench(cmd.Context(), cmd.Flags().Changed, b) },
	}
	flags := cmd.Flags()
	flags.IntVar(&b.Sessions, "sessions", 500, "number of sessions")
	flags.IntVar(&b.Agents, "agents", 4, "number of agents")
	flags.IntVar(&b.Hosts, "hosts", 0, "number of host processes on one NATS beside them (default one, with NATS in it)")
	flags.BoolVar(&b.Cluster, "nats-cluster", false, "use three NATS servers, and streams with three replicas")
	flags.IntVar(&b.Partitions, "partitions", 0, "partitions of each agent, so that several hosts work for it")
	flags.IntVar(&b.AgentSlots, "agent-concurrency", 0, "runs at once per agent and host (default as without limits.concurrency)")
	flags.IntVar(&b.Messages, "messages", 0, "messages per round, instead of --duration")
	flags.DurationVar(&b.Duration, "duration", 0, "how long a round sends messages (default 5s)")
	flags.Float64Var(&b.Rate, "rate", 0, "messages a second (default as fast as they are answered)")
	flags.IntVar(&b.Concurrency, "concurrency", 512, "messages in flight, unless --rate is given")
	flags.IntVar(&b.Size, "size", 32, "`bytes` of text per message")
	flags.IntVar(&b.Tools, "tools", 0, "tool calls per run of the model openai")
	flags.IntVar(&b.Window, "window", 0, "context window of the model in `tokens`; longer sessions are compacted (default 100000)")
	flags.Var(&b.model, "model", "echo answers at once, openai is a model server inside bench")
	flags.DurationVar(&b.ModelDelay, "model-delay", 0, "time to the first token of the model openai")
	flags.StringVar(&b.sync, "sync", "always", "when NATS writes to the disk: always, or interval (2m)")
	flags.IntVar(&b.Rounds, "rounds", 3, "number of rounds; the median is printed")
	flags.BoolVar(&b.NoRaw, "no-raw", false, "skip the echo")
	flags.BoolVar(&b.RawLog, "raw-log", false, "have the echo store a third message per turn, as a host stores its log")
	flags.DurationVar(&b.Quiet, "quiet", 10*time.Second, "without an answer for this long, count the rest as lost")
	flags.IntVar(&b.idle, "idle", 0, "measure a host of `N` agents that gets no messages")
	flags.StringVar(&b.channel, "channel", "", "with -s: the channel, or channel.instance, of agents that run")
	flags.StringVar(&b.NATSServer, "nats-server", "", "start this nats-server `binary` instead of the embedded one")
	flags.StringVar(&b.Dir, "dir", "", "`folder` for the stores (default the system's for temporary files)")
	a.ConfigFlag(cmd)
	cmd.AddCommand(a.benchEchoCommand(), a.benchNATSCommand())
	return cmd
}

// benchEchoCommand is what bench starts beside the host.
func (a *app) benchEchoCommand() *cobra.Command {
	cfg, agents, replicas, logged := bus.Config{}, 0, 1, false
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
			if replicas > 1 {
				cfg.Replicas = replicas
			}
			return bench.Echo(cmd.Context(), cfg, agents, logged, a.Stdin, a.Stderr)
		},
	}
	cfg.Embedded.Listen = new("127.0.0.1:0")
	cmd.Flags().IntVar(&agents, "agents", 4, "number of agents to answer for")
	cmd.Flags().BoolVar(&logged, "log", false, "store a commit for each message, too")
	cmd.Flags().IntVar(&replicas, "replicas", 1, "replicas of the streams")
	cmd.Flags().StringVar(&cfg.Embedded.Store, "store", "", "folder of an embedded NATS")
	cmd.Flags().StringVar(&cfg.Embedded.Sync, "sync", "", "when it writes to the disk")
	a.ConfigFlag(cmd)
	return cmd
}

// benchNATSCommand is the NATS that bench starts beside several hosts.
func (a *app) benchNATSCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "nats FILE",
		Short:   "Run a NATS server with a configuration file, as bench does beside several hosts",
		Hidden:  true,
		Example: `  agenthost bench nats nats.conf`,
		Args:    cli.Takes("FILE"),
		RunE:    func(cmd *cobra.Command, args []string) error { return bench.NATS(cmd.Context(), args[0], a.Stdin) },
	}
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
	for name, n := range map[string]int{ // as the options' 0 means the default
		"sessions": b.Sessions, "agents": b.Agents, "concurrency": b.Concurrency, "size": b.Size, "rounds": b.Rounds, "hosts": b.Hosts,
	} {
		if given(name) && n == 0 {
			return cli.Usage("%s 0: want 1 or more", name)
		}
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
		return errors.New("some messages were lost, answered twice, out of order or with an error; see above")
	}
	return nil
}

// benchRunning makes b one of hosts that run already.
func (a *app) benchRunning(ctx context.Context, given func(string) bool, b *benching) (stop func(), err error) {
	if b.channel == "" {
		return nil, cli.Usage("-s needs --channel, the channel on which the agents of that NATS take messages")
	}
	for _, flag := range []string{"agents", "hosts", "nats-cluster", "agent-concurrency", "partitions", "model", "model-delay", "tools", "window", "sync", "nats-server", "dir"} {
		if given(flag) {
			return nil, cli.Usage("--%s is for a host that bench starts; leave it out with -s", flag)
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
		return cli.Usage("--idle %d: want 1 agent or more, and no -s: bench starts a host of its own", b.idle)
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
