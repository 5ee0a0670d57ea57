package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"agenthost/config"
	"agenthost/internal/terminal"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// The exit codes.
const (
	codeDone   = 0
	codeFailed = 1
	codeUsage  = 2
)

// An app is one call of the program: what it reads and writes, and the flags
// that its commands share.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string

	json   bool
	nats   natsFlags
	config string // the path that -c names; empty: the default
	store  string // the folder that --store names; empty: none

	fixed   *terminal.Screen // what a.stdout stands for while a list is watched
	started bool             // the command line was understood
	nc      *nats.Conn       // that the command has made; nil: none
	lost    atomic.Bool      // it broke
}

// execute runs the command that args name and returns the exit code.
func execute(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr, getenv: os.Getenv}
	root := a.root()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	strictCompletion(root)
	cmd, err := root.ExecuteContextC(ctx)
	return a.report(cmd, err)
}

// report tells what went wrong, and returns the exit code.
func (a *app) report(cmd *cobra.Command, err error) int {
	var problems *config.FileError
	switch {
	case err == nil:
		return codeDone
	case errors.Is(err, errReported):
		return codeFailed
	case !a.started || isUsage(err):
		a.complain(terminal.Red, "%v\nRun \"%s --help\" for help.\n", err, cmd.CommandPath())
		return codeUsage
	case errors.As(err, &problems):
		say(a.stderr, "%v\n", problems)
		return codeFailed
	default:
		a.complain(terminal.Red, "%v\n", hintJetStream(a.hintRefused(a.hintLost(err))))
		return codeFailed
	}
}

// printJSON prints v as the result.
func (a *app) printJSON(v any) error {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(v)
	if err == nil {
		_, err = a.stdout.Write(printableJSON(out.Bytes()))
	}
	if err != nil {
		return fmt.Errorf("print result: %w", err)
	}
	return nil
}

// warn tells something that does not keep the command from its work.
func (a *app) warn(format string, args ...any) {
	a.complain(terminal.Yellow, format+"\n", args...)
}

// complain writes to standard error under the name of the program, in a colour
// where there are some.
func (a *app) complain(style terminal.Style, format string, args ...any) {
	fmt.Fprint(a.stderr, terminal.On(a.stderr, a.getenv).Paint(style, "agenthost:"))
	say(a.stderr, " "+format, args...)
}

// isTerminal reports whether a person is at the other end of stream.
func isTerminal(stream any) bool {
	if _, ok := stream.(*terminal.Editor); ok {
		return true
	}
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
