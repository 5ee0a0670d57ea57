package main

import (
	"context"
	"errors"
	"io"

	"agenthost/client"
	"agenthost/doors"
	"agenthost/internal/cli"

	"github.com/rs/zerolog"
)

// A stdio is the streams of a door on standard input and output. Nothing but the
// protocol is on them.
type stdio struct {
	in  io.ReadCloser
	out io.WriteCloser
	log zerolog.Logger
}

// atDesk connects to the hosts that run, and has serve serve a door until the input,
// the output or ctx ends.
func (a *app) atDesk(ctx context.Context, door string, logs *cli.LogFlags, serve func(context.Context, *doors.Desk, stdio) error) error {
	log := logs.Logger(a.Stderr, a.Getenv)
	return a.WithClient(ctx, func(c *client.Client) error {
		desk := doors.NewDesk(c, door, log)
		desking, cancel := context.WithCancel(ctx)
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = desk.Run(desking) // it ends with desking alone
		}()
		defer func() { cancel(); <-done }()
		serving, end := context.WithCancel(ctx)
		defer end()
		untilNotTaken(a.Stdout, end)
		err := serve(serving, desk, stdio{in: closable(a.Stdin), out: kept{a.Stdout}, log: log})
		if errors.Is(context.Cause(ctx), cli.ErrInterrupted) {
			return nil // as who starts such a program ends it
		}
		return err
	})
}

// kept is a stream that is not closed with the protocol on it.
type kept struct{ io.Writer }

func (kept) Close() error { return nil }

// closable is in, which can be closed while something reads from it: what is read
// from a terminal or a pipe otherwise goes on until more comes.
func closable(in io.Reader) io.ReadCloser {
	r, w := io.Pipe()
	go func() { // until in ends; the process does not wait for it
		_, err := io.Copy(w, in)
		_ = w.CloseWithError(err)
	}()
	return r
}
