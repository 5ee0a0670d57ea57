// Package cli is what the commands of a program share: standard streams, flags,
// the address of NATS, configuration, tables and JSON for the result, usage errors
// with exit codes, lists that are watched, and completion with live names.
//
// An [App] is one call of the program. A command embeds it and has methods of its
// own; package cobra reads the command line.
package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"strings"

	"agenthost/bus"
	"agenthost/client"
	"agenthost/config"
	"agenthost/internal/terminal"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// The exit codes.
const (
	CodeDone   = 0
	CodeFailed = 1
	CodeUsage  = 2
)

// An App is one call of the program: what it reads and writes, and the flags
// that its commands share.
type App struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	Version        string // of the program

	JSON       bool // --json
	NATS       NATSFlags
	ConfigPath string // the path that -c names; empty: the default

	// Fixed is the screen that Stdout stands for while it is something else, such
	// as the text of a list that is watched.
	Fixed *terminal.Screen

	args     []string       // of this call
	started  bool           // the command line was understood
	misnamed error          // help was asked for a command that there is not
	client   *client.Client // that the command has made; nil: none
}

// Execute runs the command below root that args name and returns the exit code.
func (a *App) Execute(ctx context.Context, root *cobra.Command, args []string) int {
	out := resultIn(a.Stdout)
	if out != nil {
		a.Stdout = out
	}
	a.args = args
	root.SetArgs(args)
	root.SetIn(a.Stdin)
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	strictCompletion(root)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		err = a.misnamed // a help function of cobra returns no error
	}
	if lost := out.lost(); lost != nil && (err == nil || errors.Is(err, ErrReported)) {
		a.started = true // help has no other error
		err = fmt.Errorf("print result: %w", lost)
	}
	return a.Report(cmd, err)
}

// Report prints what went wrong, and returns the exit code.
func (a *App) Report(cmd *cobra.Command, err error) int {
	var problems *config.FileError
	switch {
	case err == nil:
		return CodeDone
	case errors.Is(err, ErrReported):
		return CodeFailed
	case !a.started || IsUsage(err):
		a.complain(terminal.Red, "%v\nRun \"%s --help\" for help.\n", err, cmd.CommandPath())
		return CodeUsage
	case errors.As(err, &problems):
		Say(a.Stderr, "%v\n", problems)
		return CodeFailed
	default:
		a.complain(terminal.Red, "%v\n", a.explain(err))
		return CodeFailed
	}
}

// explain adds to the error of a command what its connection knows.
func (a *App) explain(err error) error {
	if a.client == nil {
		return err
	}
	return a.client.Explain(err)
}

// PrintJSON prints v as the result.
func (a *App) PrintJSON(v any) error {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(v)
	if err == nil {
		_, err = a.Stdout.Write(PrintableJSON(out.Bytes()))
	}
	if err != nil {
		return fmt.Errorf("print result: %w", err)
	}
	return nil
}

// PrintOrder prints what became of an order.
func (a *App) PrintOrder(id, state, words string) error {
	if a.JSON {
		return a.PrintJSON(map[string]string{"id": id, "state": state})
	}
	Say(a.Stdout, "%s\n", words)
	return nil
}

// Warn prints something that does not keep the command from its work.
func (a *App) Warn(format string, args ...any) {
	a.complain(terminal.Yellow, format+"\n", args...)
}

// complain writes to standard error under the name of the program, in a colour
// where there are some.
func (a *App) complain(style terminal.Style, format string, args ...any) {
	fmt.Fprint(a.Stderr, terminal.On(a.Stderr, a.Getenv).Paint(style, "agenthost:"))
	Say(a.Stderr, " "+format, args...)
}

// Confirm asks a person for a yes. The end of ctx, as by Ctrl-C, is a no.
func (a *App) Confirm(ctx context.Context, what string) bool {
	Say(a.Stderr, "%s [y/N] ", what)
	text, _ := Await(ctx, func() (string, error) { // no answer is a no
		return bufio.NewReader(a.Stdin).ReadString('\n')
	})
	if ctx.Err() != nil {
		fmt.Fprintln(a.Stderr)
		return false
	}
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "y", "yes":
		return true
	}
	return false
}

// Await is what read returns, or why ctx has ended: a terminal gives nothing back until
// a line is typed, also at Ctrl-C. The read then goes on until the process ends.
func Await(ctx context.Context, read func() (string, error)) (string, error) {
	type line struct {
		text string
		err  error
	}
	lines := make(chan line, 1)
	go func() {
		text, err := read()
		lines <- line{text, err}
	}()
	select {
	case l := <-lines:
		return l.text, l.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// IsTerminal reports whether a person is at the other end of stream.
func IsTerminal(stream any) bool {
	if _, ok := stream.(*terminal.Editor); ok {
		return true
	}
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// UserName is the name of the user of this process.
func UserName() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "anonymous"
}

// Operator is the user of this process as the audit log names whoever uses a command.
func Operator() string { return bus.DoorCLI + ":" + UserName() }

// Text is the text of an argument; "-" stands for what is on standard input.
func (a *App) Text(arg string) (string, error) {
	if arg != "-" {
		return arg, nil
	}
	data, err := io.ReadAll(a.Stdin)
	if err != nil {
		return "", fmt.Errorf("read message: %w", err)
	}
	return strings.TrimRight(string(data), "\r\n"), nil
}
