package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"agenthost/bus"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/spf13/cobra"
)

// A retried tells where the message of a dead letter is now.
type retried struct {
	DeadSeq uint64 `json:"dead_seq"`
	Subject string `json:"subject"`
	Stream  string `json:"stream"`
	Seq     uint64 `json:"seq"`
}

func (a *app) deadRetryCommand() *cobra.Command {
	which := &selection{}
	cmd := &cobra.Command{
		Use:   "retry SEQ... | --all [AGENT]",
		Short: "Send the message of a dead letter again",
		Long: `Retry sends the message of a dead letter again, as a new one, and deletes the
letter. A message that cannot be handled dies again.`,
		Example: `  agenthost dead retry 12
  agenthost dead retry --all assistant`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withGrave(cmd.Context(), func(g *grave) error {
				list, err := which.of(cmd.Context(), g, args)
				if err != nil {
					return err
				}
				return a.deadRetry(cmd.Context(), g, list)
			})
		},
	}
	which.register(cmd)
	a.configFlag(cmd)
	return cmd
}

// deadRetry goes on after a letter that cannot be sent again, and fails in the
// end.
func (a *app) deadRetry(ctx context.Context, g *grave, list []deadLetter) error {
	done := []retried{}
	var failed error
	for _, l := range list {
		r, err := g.retry(ctx, l)
		if err != nil {
			failed = errReported
			a.warn("retry dead letter %d: %v", l.DeadSeq, err)
			continue
		}
		done = append(done, r)
		if !a.json {
			fmt.Fprintf(a.stdout, "%d: sent again to %s\n", r.DeadSeq, r.Subject)
		}
	}
	if a.json {
		return errors.Join(failed, a.printJSON(done))
	}
	if len(list) == 0 {
		fmt.Fprintln(a.stdout, "no dead letters")
	}
	return failed
}

// retry publishes the message and then deletes the letter. Between the two the
// stream's window knows the message, should somebody retry it once more.
func (g *grave) retry(ctx context.Context, l deadLetter) (retried, error) {
	if l.Subject == "" || strings.ContainsAny(l.Subject, " \t\r\n*>") {
		return retried{}, errors.New("it does not tell which subject the message was for")
	}
	data, err := g.message(ctx, l)
	if err != nil {
		return retried{}, err
	}
	id := fmt.Sprintf("retry:%s:%d", l.ID, l.DeadSeq)
	msg := nats.NewMsg(l.Subject)
	for key, values := range l.Header {
		if !strings.HasPrefix(strings.ToLower(key), "nats-") {
			msg.Header[key] = values
		}
	}
	msg.Header.Set(nats.MsgIdHdr, id)
	if msg.Data = data; l.Attempts > 0 {
		msg.Data = renamed(data, id)
	}
	ack, err := g.js.PublishMsg(ctx, msg)
	if err != nil {
		return retried{}, fmt.Errorf("publish on %s: %w", l.Subject, err)
	}
	return retried{l.DeadSeq, l.Subject, ack.Stream, ack.Sequence}, g.delete(ctx, l.DeadSeq)
}

// message is the message of a dead letter, which may be in its stream only.
func (g *grave) message(ctx context.Context, l deadLetter) ([]byte, error) {
	if !l.Omitted {
		return l.Data(), nil
	}
	stream, err := g.js.Stream(ctx, l.Stream)
	if err != nil {
		return nil, fmt.Errorf("look up stream %q: %w", l.Stream, err)
	}
	msg, err := stream.GetMsg(ctx, l.Seq)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, fmt.Errorf("the message was too large to be kept, and %s does not have it any more", l.Stream)
	}
	if err != nil {
		return nil, fmt.Errorf("read message %d of %s: %w", l.Seq, l.Stream, err)
	}
	return msg.Data, nil
}

// renamed gives a message that was begun another id: its session knows the old
// one, and would only repeat that it failed.
func renamed(data []byte, id string) []byte {
	fields := map[string]json.RawMessage{}
	if !bus.IsObject(data) || json.Unmarshal(data, &fields) != nil || fields["id"] == nil {
		return data
	}
	name, err := json.Marshal(id)
	if err != nil {
		return data
	}
	fields["id"] = name
	all, err := json.Marshal(fields)
	if err != nil {
		return data
	}
	return all
}
