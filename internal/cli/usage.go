package cli

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"agenthost/client"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// ErrReported ends a command that has printed what went wrong.
var ErrReported = errors.New("reported")

// A usageError is what is wrong with a command line that cobra could read.
type usageError struct{ error }

// Usage is the error of a command line that is wrong.
func Usage(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

// IsUsage reports whether the command line was wrong.
func IsUsage(err error) bool {
	_, wrong := errors.AsType[usageError](err)
	_, name := errors.AsType[*client.NameError](err)
	return wrong || name
}

// CheckTimeout is an error when --timeout is none.
func CheckTimeout(timeout time.Duration) error {
	if timeout <= 0 {
		return Usage("--timeout %s: want more than 0", timeout)
	}
	return nil
}

// Takes checks the number of arguments. names are what they are; those in
// brackets may be left out.
func Takes(names ...string) cobra.PositionalArgs {
	least := slices.IndexFunc(names, func(n string) bool { return n[0] == '[' })
	if least < 0 {
		least = len(names)
	}
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(names) == 0 && len(args) == 1 && cmd.Flag("config") != nil && strings.HasSuffix(args[0], ".yaml"):
			return fmt.Errorf("want no arguments, got %q; a configuration is given with -c %s", args, args[0])
		case len(names) == 0 && len(args) > 0:
			return fmt.Errorf("want no arguments, got %q", args)
		case len(args) > len(names):
			return fmt.Errorf("want %s, got %q too many", strings.Join(names, " "), args[len(names):])
		case len(args) < least:
			return fmt.Errorf("want %s; %s is missing", strings.Join(names, " "), names[len(args)])
		}
		for i, arg := range args {
			if strings.TrimSpace(arg) == "" { // of a variable of the shell that is not set, mostly
				return fmt.Errorf("want %s; %s is empty", strings.Join(names, " "), strings.Trim(names[i], "[]."))
			}
		}
		return nil
	}
}

// plainValue is the error of a flag without the words of the Go library that read its value.
func plainValue(err error) error {
	wrong, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok {
		return err
	}
	var want string
	switch kind := wrong.GetFlag().Value.Type(); {
	case errors.Is(err, strconv.ErrRange):
		want = "a smaller number"
	case kind == "duration":
		want = "a duration such as 30s or 10m"
	case strings.HasPrefix(kind, "float"):
		want = "a number"
	case strings.HasPrefix(kind, "uint"):
		want = "a whole number, 0 or more"
	case strings.HasPrefix(kind, "int"):
		want = "a whole number"
	case kind == "bool":
		want = "true or false"
	default: // a type of ours, with words of its own
		return err
	}
	return fmt.Errorf("invalid argument %q for \"--%s\" flag: want %s", wrong.GetValue(), wrong.GetFlag().Name, want)
}

// Group makes cmd a command that only has others below it.
func Group(cmd *cobra.Command, below ...*cobra.Command) *cobra.Command {
	cmd.AddCommand(below...)
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		meant := ""
		if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
			meant = fmt.Sprintf("; did you mean %q?", near[0])
		}
		return fmt.Errorf("unknown command %q%s", args[0], meant)
	}
	cmd.SuggestionsMinimumDistance = 2
	cmd.InitDefaultHelpFlag() // before cobra looks for the command, so that it takes no name for the value of --help
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	return cmd
}

// A Choice is a flag that can be one of a few words.
type Choice struct {
	Value string
	Among []string
}

func (c *Choice) String() string { return c.Value }

// Type is what the help shows for the value.
func (c *Choice) Type() string { return strings.Join(c.Among, "|") }

// Set takes one of the words.
func (c *Choice) Set(s string) error {
	if !slices.Contains(c.Among, s) {
		return fmt.Errorf("want one of %s", strings.Join(c.Among, ", "))
	}
	c.Value = s
	return nil
}

var agentID = regexp.MustCompile(`^[a-z0-9_-]{1,63}$`)

// CheckAgent refuses what can be no agent's id, and would be another subject.
func CheckAgent(id string) error {
	if !agentID.MatchString(id) {
		return Usage("agent %q: want 1 to 63 of a-z, 0-9, _ and -", id)
	}
	return nil
}
