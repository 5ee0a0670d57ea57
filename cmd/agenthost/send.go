package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"agenthost/client"
	"agenthost/internal/chat"
	"agenthost/internal/cli"
)

// sending is the arguments of send.
type sending struct {
	agent, text   string
	from, session string
	to            string
	target        client.Target // that to names
	wait, stream  bool
	timeout       time.Duration
}

var errNoReply = errors.New("no reply in time")

func (a *app) sendCommand() *cobra.Command {
	s := sending{}
	cmd := &cobra.Command{
		Use:   "send AGENT TEXT",
		Short: "Send an agent a message",
		Long: `Send sends an agent a message and prints its id, with --json also the key of its
session; with --wait, the answer. NATS keeps the message until it is handled. When
the agent asks for an approval or has a question meanwhile, standard error says
how to answer it. A TEXT of - is read from standard input. What it sends is a task:
orders of a chat such as /stop are text in it. "agenthost runs abort" stops a run.`,
		Example: `  agenthost send assistant "count the apples"
  agenthost send assistant "count the apples" --wait
  git diff | agenthost send reviewer - --stream
  agenthost send assistant "and now?" --wait --session apples
  agenthost send ledger "book 12 EUR" --as ana --wait
  agenthost send assistant "say that the sale begins" --to telegram.sales/42`,
		Args: cli.Takes("AGENT", "TEXT"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			s.agent = args[0]
			if s.text, err = a.Text(args[1]); err != nil {
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
	flags.StringVar(&s.from, "from", "cli", "name of the sender")
	flags.StringVar(&s.from, "as", "cli", "the same as --from: the `name` of the sender, for agents with accepts")
	flags.StringVar(&s.session, "session", "", "go on with the session of that `name`, or with that key, such as route/cli/apples (default: a new one)")
	flags.StringVar(&s.to, "to", "", "the `chat` that gets the answer, such as telegram.sales/42, as a notice")
	a.ConfigFlag(cmd)
	return cmd
}

func (s *sending) check() (err error) {
	switch {
	case strings.TrimSpace(s.text) == "":
		return cli.Usage("the message is empty")
	case s.from == "":
		return cli.Usage("--from is empty")
	case s.to != "" && (s.wait || s.stream || s.session != ""):
		return cli.Usage("--to sends the answer to that chat; it goes without --wait, --stream and --session")
	case s.to != "":
		if s.target, err = client.ParseTarget(s.to); err != nil {
			return cli.Usage("--to: %v", err)
		}
	case s.session != "":
		party, err := client.ParseParty(s.session, s.from)
		if err != nil {
			return err
		}
		s.from, s.session = party.From, party.Session
	}
	if err := cli.CheckTimeout(s.timeout); err != nil {
		return err
	}
	return cli.CheckAgent(s.agent)
}

func (a *app) send(ctx context.Context, s sending) error {
	c, err := a.Connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	hosts, err := c.HostsOf(ctx, s.agent)
	if err != nil {
		return err
	}
	m := client.NewMessage(s.text)
	if s.to != "" {
		return a.notify(ctx, c, s, m, len(hosts))
	}
	conv := c.Conversation(s.agent, client.Party{From: s.from, Session: s.session})
	if s.wait || s.stream {
		if err := conv.Listen(s.stream); err != nil {
			return err
		}
		defer conv.Close()
	}
	receipt, err := conv.Send(ctx, m)
	if err != nil {
		return err
	}
	if len(hosts) == 0 {
		a.Warn("no host is running; the message waits")
	}
	switch {
	case s.wait || s.stream:
		return a.awaitReply(ctx, conv, m, s)
	case a.JSON:
		return a.PrintJSON(receipt)
	}
	fmt.Fprintln(a.Stdout, m.ID)
	return nil
}

// notify sends a message whose answer goes to a chat.
func (a *app) notify(ctx context.Context, c *client.Client, s sending, m client.Message, hosts int) error {
	receipt, err := c.Notify(ctx, s.agent, m, s.from, s.target)
	if err != nil {
		return err
	}
	if hosts == 0 {
		a.Warn("no host is running; the message waits")
	}
	if a.JSON {
		return a.PrintJSON(receipt)
	}
	fmt.Fprintln(a.Stdout, m.ID)
	return nil
}

func (a *app) awaitReply(ctx context.Context, conv *client.Conversation, m client.Message, s sending) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.timeout, errNoReply)
	defer cancel()
	speech, calm := chat.NewSpeech(a.App), sync.OnceFunc(a.Working("waiting for "+s.agent))
	reply, err := conv.Wait(ctx, m, func(e client.Event) {
		switch {
		case e.Asked != nil:
			calm()
			fmt.Fprintln(a.Stderr, chat.WaitingFor(*e.Asked))
		case e.Chunk == nil || !s.stream:
		case a.JSON:
			_ = json.NewEncoder(a.Stdout).Encode(e.Chunk) // as with fmt.Print, there is no place to report it
		default:
			calm()
			speech.Chunk(*e.Chunk)
		}
	})
	calm()
	switch {
	case errors.Is(err, errNoReply):
		return fmt.Errorf("no answer of %s within %s; message %s is kept until it is handled", s.agent, s.timeout, m.ID)
	case err != nil:
		return fmt.Errorf("wait for the answer to %s: %w", m.ID, err)
	}
	return chat.PrintReply(a.App, conv, reply, speech)
}
