//go:build unix

// Agenthost-chaos breaks a fleet of agenthost under load, and then holds all that
// it has written against what it was asked: three NATS servers, three hosts, a
// fault every second.
//
//	go run ./internal/agenthost-chaos --for 3m
//
// The seed that it prints determines the faults and the load, as far as the
// machine's own timing lets it.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"agenthost/internal/agenthost-chaos/clock"
	"agenthost/internal/agenthost-chaos/load"
	"agenthost/internal/agenthost-chaos/natsnode"
)

type options struct {
	seed         uint64
	lasts        time.Duration
	every        time.Duration
	rest         time.Duration
	settle       time.Duration
	stretched    time.Duration
	hosts, nodes int
	rate         int
	faults       string
	dir          string
	binary       string
	self         string
	again        string // the command that repeats it
}

func main() {
	var err error
	switch {
	case os.Getenv(natsVar) != "":
		err = natsnode.Serve(os.Args[1:])
	case os.Getenv(notesVar) != "":
		err = load.ServeNotes(os.Getenv(notesVar))
	case os.Getenv(roomVar) != "":
		err = load.ServeRoom(os.Getenv(roomVar))
	default:
		err = run()
	}
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "agenthost-chaos:", err)
		os.Exit(1)
	}
}

func run() error {
	o, chosen, err := parse(os.Args[1:])
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	keep := o.dir != ""
	if !keep {
		if o.dir, err = os.MkdirTemp("", "agenthost-chaos-"); err != nil {
			return err
		}
	}
	if o.dir, err = filepath.Abs(o.dir); err == nil {
		err = os.MkdirAll(o.dir, 0o700)
	}
	if err != nil {
		return err
	}
	fmt.Printf("seed %d, %s, %d hosts, %d nodes, %d messages/s, logs in %s\n", o.seed, o.lasts, o.hosts, o.nodes, o.rate, o.dir)
	if chosen, err = build(ctx, o, chosen); err != nil {
		return err
	}
	violations, err := breakFleet(ctx, o, chosen)
	if err != nil || len(violations) > 0 {
		explain(os.Stdout, o.dir, violations)
		return errors.Join(err, fmt.Errorf("%d violations; logs are in %s; the same again: %s", len(violations), o.dir, o.again))
	}
	if keep {
		return nil
	}
	return os.RemoveAll(o.dir)
}

func breakFleet(ctx context.Context, o *options, chosen []string) (violations []string, err error) {
	h, err := newHarness(ctx, o)
	if err != nil {
		return nil, err
	}
	return h.run(chosen)
}

const usage = `agenthost-chaos breaks a fleet of agenthost under load: hosts and NATS servers as processes, a fault
every second. Then it reads all that the fleet has written, and fails if a message was lost or answered
twice or out of order, a tool ran twice, a log does not fold, or a cost is not in the records.

  go run ./internal/agenthost-chaos --for 3m
  go run ./internal/agenthost-chaos --seed 7 --faults host-kill,half-open

`

func parse(args []string) (*options, []string, error) {
	o := &options{}
	set := flag.NewFlagSet("agenthost-chaos", flag.ContinueOnError)
	set.Usage = func() {
		fmt.Fprint(set.Output(), usage)
		set.PrintDefaults()
	}
	set.Uint64Var(&o.seed, "seed", 0, "of the random numbers (default: another each time)")
	set.DurationVar(&o.lasts, "for", 3*time.Minute, "how long things are broken")
	set.DurationVar(&o.every, "every", time.Second, "time from one fault to the next")
	set.DurationVar(&o.rest, "rest", 12*time.Second, "time from the end of a fault of a NATS server to the next one")
	set.DurationVar(&o.settle, "settle", 4*time.Minute, "how long everything may take to settle afterwards")
	set.IntVar(&o.hosts, "hosts", 3, "hosts of the fleet")
	set.IntVar(&o.nodes, "nodes", 3, "servers of the NATS cluster")
	set.DurationVar(&o.stretched, "stretched", 0, "how long data takes to and from the last server, all the time: a cluster over two sites")
	set.IntVar(&o.rate, "rate", 20, "messages a second")
	set.StringVar(&o.faults, "faults", "", "kinds of faults, with commas between them (default: all): "+strings.Join(kinds(), " "))
	set.StringVar(&o.dir, "dir", "", "folder for configurations, logs and stores, which are kept (default: a temporary one, kept when something is wrong)")
	set.StringVar(&o.binary, "binary", "", "the agenthost to break (default: one that is built)")
	if err := set.Parse(args); err != nil {
		return nil, nil, err
	}
	if o.seed == 0 {
		o.seed = rand.Uint64N(1 << 32)
	}
	o.again = again(set, o.seed)
	chosen := kinds()
	if o.faults != "" {
		chosen = strings.Split(o.faults, ",")
	}
	for _, kind := range chosen {
		if _, ok := faults[kind]; !ok && kind != "none" {
			return nil, nil, fmt.Errorf("--faults: there is no %q; there are %s", kind, strings.Join(kinds(), ", "))
		}
	}
	if slices.Contains(chosen, "none") {
		chosen = nil
	}
	if o.hosts < 1 || o.nodes < 1 || o.rate < 1 {
		return nil, nil, errors.New("--hosts, --nodes and --rate are 1 at least")
	}
	return o, chosen, nil
}

// again is the command that has the same faults and load once more.
func again(set *flag.FlagSet, seed uint64) string {
	args := fmt.Sprintf("--seed %d", seed)
	set.Visit(func(f *flag.Flag) {
		if !slices.Contains([]string{"seed", "dir", "binary"}, f.Name) {
			args += fmt.Sprintf(" --%s %s", f.Name, f.Value)
		}
	})
	return "make chaos CHAOS='" + args + "'"
}

// build builds the host, unless there is one, and returns the kinds of faults that it can have:
// its clock can only be set wrong when it was built for that.
func build(ctx context.Context, o *options, chosen []string) (_ []string, err error) {
	if o.self, err = os.Executable(); err != nil {
		return nil, err
	}
	if o.binary == "" {
		o.binary = filepath.Join(o.dir, "agenthost")
		err = compile(ctx, o.binary, slices.Contains(chosen, clockJump))
	} else {
		o.binary, err = filepath.Abs(o.binary)
	}
	if err != nil || !slices.Contains(chosen, clockJump) {
		return chosen, err
	}
	data, err := os.ReadFile(o.binary)
	if err != nil || bytes.Contains(data, []byte(clock.Var)) {
		return chosen, err
	}
	fmt.Printf("left out: %s; %s reads no clock but that of the system\n", clockJump, o.binary)
	return slices.DeleteFunc(slices.Clone(chosen), func(kind string) bool { return kind == clockJump }), nil
}

// compile builds the host, with a clock of its own or not.
func compile(ctx context.Context, to string, clocked bool) error {
	args := []string{"build", "-o", to}
	if clocked {
		overlay, err := clock.Overlay(ctx)
		if err != nil {
			return err
		}
		args = append(args, "-overlay", overlay)
	}
	out, err := exec.CommandContext(ctx, "go", append(args, "agenthost/cmd/agenthost")...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("build agenthost: %w\n%s", err, out)
	}
	return nil
}
