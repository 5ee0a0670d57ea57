package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"agenthost/bus"
	"agenthost/internal/control"

	"github.com/spf13/cobra"
)

// An answering is what approvals answer was told.
type answering struct {
	control.Answer
	scope   choice
	args    string
	timeout time.Duration
}

func (a *app) approvalsAnswerCommand() *cobra.Command {
	s := answering{scope: choice{among: control.Scopes()}}
	cmd := &cobra.Command{
		Use:   "answer ID approve|deny|TEXT",
		Short: "Answer an approval or a question",
		Long: `Answer gives an approval or a question its answer and waits for the word of the
host. Without a host the answer is kept for the next one. A scope other than
once lets the same call run without asking: in this session, or always. With
--args the call runs with these arguments in place of those that were asked for;
the model is told.`,
		Example: `  agenthost approvals answer ana.4j2k….q7xn… approve
  agenthost approvals answer ana.4j2k….q7xn… approve --scope always --by "Ana Lind"
  agenthost approvals answer ana.4j2k….q7xn… approve --args '{"path":"other.txt","text":"hello"}'
  agenthost approvals answer ana.4j2k….q7xn… 'the blue one'`,
		Args: takes("ID", "approve|deny|TEXT"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s.ID, s.Text, s.Scope, s.Args = args[0], args[1], s.scope.value, json.RawMessage(s.args)
			switch {
			case strings.TrimSpace(s.Text) == "":
				return usage("the answer is empty")
			case s.By == "":
				return usage("--by is empty")
			case s.timeout <= 0:
				return usage("--timeout %s: want more than 0", s.timeout)
			}
			return a.answerWaiting(cmd.Context(), s)
		},
	}
	cmd.Flags().Var(&s.scope, "scope", "how far an approval goes (default once)")
	cmd.Flags().StringVar(&s.args, "args", "", "JSON arguments to run an approved call with")
	cmd.Flags().StringVar(&s.By, "by", "cli", "who answers")
	cmd.Flags().DurationVar(&s.timeout, "timeout", orderWithin, "how long to wait for the word of the host")
	a.configFlag(cmd)
	return cmd
}

func (a *app) answerWaiting(ctx context.Context, s answering) error {
	o, err := a.newOrder(ctx)
	if err != nil {
		return err
	}
	defer o.nc.Close()
	w, err := o.waiting(ctx, s.ID)
	if err != nil {
		return hintBucket(err)
	}
	s.ID, s.Door = w.ID, bus.DoorCLI
	msg, err := s.Message(w, o.inbox.Subject)
	if err != nil {
		return err
	}
	told, err := o.give(ctx, w.Agent, msg, s.timeout)
	switch {
	case errors.Is(err, errNoWord):
		a.warn("no host took the answer yet; it waits in the stream %s", told.stream)
		return a.printOrder(s.ID, "stored", "the answer is stored")
	case err != nil:
		return fmt.Errorf("answer %q: %w", s.ID, err)
	case told.Error != nil && len(s.Args) > 0:
		return fmt.Errorf("answer %q: %s", s.ID, printable(told.Error.Message))
	case told.Error != nil:
		return fmt.Errorf("answer %q: it is already answered, or its run has ended", s.ID)
	}
	return a.printOrder(s.ID, "answered", "answered "+printable(prompt(w)))
}

// printOrder prints what became of an order.
func (a *app) printOrder(id, state, words string) error {
	if a.json {
		return a.printJSON(map[string]string{"id": id, "state": state})
	}
	say(a.stdout, "%s\n", words)
	return nil
}

// waiting reads what waits under id.
func (o *order) waiting(ctx context.Context, id string) (control.Waiting, error) {
	ctx, cancel := context.WithTimeout(ctx, dialWithin)
	defer cancel()
	return findWaiting(ctx, o.js, id)
}
