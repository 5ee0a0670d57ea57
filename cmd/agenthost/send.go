package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"agenthost/internal/control"

	"github.com/nats-io/nuid"
	"github.com/spf13/cobra"
)

// sending is what send was told.
type sending struct {
	agent, text   string
	from, session string
	wait, stream  bool
	timeout       time.Duration
}

var errNoAnswer = errors.New("no answer in time")

func (a *app) sendCommand() *cobra.Command {
	s := sending{}
	cmd := &cobra.Command{
		Use:   "send AGENT TEXT",
		Short: "Send an agent a message",
		Long: `Send gives an agent a message, which NATS keeps until it is handled, and prints
its id, with --json also the key of its session; with --wait, the answer. When the agent asks for an approval meanwhile,
or has a question, standard error tells how to answer it. A TEXT of - is read
from standard input.`,
		Example: `  agenthost send assistant "count the apples"
  agenthost send assistant "count the apples" --wait
  git diff | agenthost send reviewer - --stream
  agenthost send assistant "and now?" --wait --session apples
  agenthost send ledger "book 12 EUR" --as ana --wait`,
		Args: takes("AGENT", "TEXT"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			s.agent = args[0]
			if s.text, err = a.message(args[1]); err != nil {
				return err
			}
			if err := s.check(); err != nil {
				return err
			}
			return a.send(cmd.Context(), s)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&s.wait, "wait", false, "wait for the answer and print it")
	flags.BoolVar(&s.stream, "stream", false, "print the answer as it comes (implies --wait)")
	flags.DurationVar(&s.timeout, "timeout", time.Minute, "how long to wait for the answer")
	flags.StringVar(&s.from, "from", "cli", "who sends it")
	flags.StringVar(&s.from, "as", "cli", "the `name` it is sent under, for agents that accept the work of some only; the same as --from")
	flags.StringVar(&s.session, "session", "", "go on with the session of that `name`, or with that key, such as route/cli/apples (default: a new one)")
	a.configFlag(cmd)
	return cmd
}

// message is the text of an argument, which may be on standard input.
func (a *app) message(arg string) (string, error) {
	if arg != "-" {
		return arg, nil
	}
	data, err := io.ReadAll(a.stdin)
	if err != nil {
		return "", fmt.Errorf("read message: %w", err)
	}
	return strings.TrimRight(string(data), "\r\n"), nil
}

func (s *sending) check() error {
	switch {
	case strings.TrimSpace(s.text) == "":
		return usage("the message is empty")
	case s.from == "":
		return usage("--from is empty")
	case s.session != "":
		var err error
		if s.from, s.session, err = sessionNamed(s.session, s.from); err != nil {
			return err
		}
	}
	if s.timeout <= 0 {
		return usage("--timeout %s: want more than 0", s.timeout)
	}
	return checkAgent(s.agent)
}

func (a *app) send(ctx context.Context, s sending) error {
	nc, js, err := a.connect(ctx)
	if err != nil {
		return err
	}
	defer nc.Close()
	hosts, err := askHostsOf(ctx, nc, s.agent)
	if err != nil {
		return err
	}
	if err := reachable(hosts, s.agent); err != nil {
		return err
	}
	q := newQuestion(s.text)
	if s.session == "" {
		s.session = nuid.Next()
	}
	d := newDialog(nc, js, s.agent, s.from, s.session)
	if s.wait || s.stream {
		if err := d.listen(s.stream); err != nil {
			return err
		}
		defer d.close()
	}
	ack, err := d.send(ctx, q)
	if err != nil {
		return err
	}
	if len(hosts) == 0 {
		a.warn("no host is running; the message waits")
	}
	if s.wait || s.stream {
		return a.awaitAnswer(ctx, d, q, s)
	}
	if a.json {
		return a.printJSON(map[string]any{
			"id": q.id, "stream": ack.Stream, "seq": ack.Sequence, "session": control.RouteKey(s.from, s.session),
		})
	}
	fmt.Fprintln(a.stdout, q.id)
	return nil
}

// reachable refuses an agent that none of the hosts has. With no host running
// there is no telling.
func reachable(hosts fleet, agent string) error {
	if len(hosts) == 0 || slices.Contains(hosts.agents(), agent) {
		return nil
	}
	return noSuchAgent(agent, hosts.agents())
}

func (a *app) awaitAnswer(ctx context.Context, d *dialog, q question, s sending) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.timeout, errNoAnswer)
	defer cancel()
	speech := &speech{w: a.stdout, safe: isTerminal(a.stdout)}
	l := listener{asked: func(w control.Waiting) { fmt.Fprintln(a.stderr, waitingFor(w)) }}
	if s.stream && !a.json {
		l.chunk = speech.chunk
	}
	if s.stream && a.json {
		l.chunk = func(c control.Chunk) { _ = json.NewEncoder(a.stdout).Encode(c) }
	}
	got, err := d.answer(ctx, q, l)
	if errors.Is(err, errNoAnswer) {
		return fmt.Errorf("no answer of %s within %s; message %s is kept until it is handled", s.agent, s.timeout, q.id)
	}
	if err != nil {
		return fmt.Errorf("wait for the answer to %s: %w", q.id, err)
	}
	return a.printAnswer(got, speech)
}

// printAnswer prints what is left to print of an answer, and returns the error
// that it is.
func (a *app) printAnswer(got answer, speech *speech) error {
	switch {
	case a.json:
		fmt.Fprintf(a.stdout, "%s\n", printableJSON(got.envelope))
	case got.err() == nil:
		speech.end(spoken(got.Route))
	case speech.said.Len() > 0:
		speech.write("\n")
	}
	return got.err()
}
