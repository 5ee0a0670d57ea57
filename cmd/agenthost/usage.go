package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// errReported ends a command that has told itself what went wrong.
var errReported = errors.New("reported")

// A usageError is what is wrong with a command line that cobra could read.
type usageError struct{ error }

func usage(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

func isUsage(err error) bool {
	_, ok := errors.AsType[usageError](err)
	return ok
}

// takes checks the number of arguments. names are what they are; those in
// brackets may be left out.
func takes(names ...string) cobra.PositionalArgs {
	least := slices.IndexFunc(names, func(n string) bool { return n[0] == '[' })
	if least < 0 {
		least = len(names)
	}
	return func(_ *cobra.Command, args []string) error {
		switch {
		case len(names) == 0 && len(args) > 0:
			return fmt.Errorf("want no arguments, got %q", args)
		case len(args) > len(names):
			return fmt.Errorf("want %s, got %q too many", strings.Join(names, " "), args[len(names):])
		case len(args) < least:
			return fmt.Errorf("want %s; %s is missing", strings.Join(names, " "), names[len(args)])
		}
		return nil
	}
}

// group makes cmd a command that only has others below it.
func group(cmd *cobra.Command, below ...*cobra.Command) *cobra.Command {
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
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	return cmd
}

// A choice is a flag that can be one of a few words.
type choice struct {
	value string
	among []string
}

func (c *choice) String() string { return c.value }

// Type is what the help shows for the value.
func (c *choice) Type() string { return strings.Join(c.among, "|") }

// Set takes one of the words.
func (c *choice) Set(s string) error {
	if !slices.Contains(c.among, s) {
		return fmt.Errorf("want one of %s", strings.Join(c.among, ", "))
	}
	c.value = s
	return nil
}

var agentID = regexp.MustCompile(`^[a-z0-9_-]{1,63}$`)

// checkAgent refuses what can be no agent's id, and would be another subject.
func checkAgent(id string) error {
	if !agentID.MatchString(id) {
		return usage("agent %q: want 1 to 63 of a-z, 0-9, _ and -", id)
	}
	return nil
}
