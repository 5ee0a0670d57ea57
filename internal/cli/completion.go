package cli

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"agenthost/client"
	"agenthost/internal/terminal"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// completeWithin bounds what a shell waits for words.
const completeWithin = 2 * time.Second

// A source lists the words that there are by now; agent is the one that the
// command line names, if it does.
type source func(ctx context.Context, c *client.Client, agent string) ([]string, error)

// completeLive has the commands below cmd offer the names that there are, for
// arguments that are called AGENT, KEY, SESSION, ID, SEQ, MODEL or HOST, and for
// --agent; folders for DIR; and the words of a [Choice].
func (a *App) completeLive(cmd *cobra.Command) {
	for _, below := range cmd.Commands() {
		a.completeLive(below)
	}
	if cmd.ValidArgsFunction == nil && cmd.HasParent() && cmd.Runnable() {
		cmd.ValidArgsFunction = a.completeArgs(cmd)
	}
	if cmd.Flags().Lookup("agent") != nil {
		_ = cmd.RegisterFlagCompletionFunc("agent", func(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
			return a.offer(cmd.Context(), liveAgents, "", begun)
		}) // the flag is there
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if choice, ok := f.Value.(*Choice); ok {
			_ = cmd.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(choice.Among, cobra.ShellCompDirectiveNoFileComp)) // the flag is there
		}
	})
}

func (a *App) completeArgs(cmd *cobra.Command) cobra.CompletionFunc {
	names := strings.Fields(cmd.Use)[1:]
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= len(names) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		agent := ""
		if len(args) > 0 && names[0] == "AGENT" {
			agent = args[0]
		}
		if names[len(args)] == "DIR" {
			return nil, cobra.ShellCompDirectiveFilterDirs
		}
		from := sourceOf(cmd, strings.Trim(names[len(args)], "[]."))
		if from == nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return a.offer(cmd.Context(), from, agent, begun)
	}
}

// sourceOf is what an argument with that name of a command can be; nil: anything.
func sourceOf(cmd *cobra.Command, name string) source {
	switch {
	case name == "AGENT":
		return liveAgents
	case name == "KEY", name == "SESSION":
		return liveSessions
	case name == "MODEL":
		return liveModels
	case name == "HOST":
		return liveHosts
	case name == "SEQ", name == "SEQ|ID":
		return liveLetters
	case name == "ID" && cmd.Parent().Name() == "memory":
		return liveNotes
	case name == "ID" && cmd.Name() == "revoke":
		return liveAllowed
	case name == "ID":
		return liveWaiting
	case name == "approve|deny|TEXT":
		return func(context.Context, *client.Client, string) ([]string, error) {
			return []string{client.Approve, client.Deny}, nil
		}
	}
	return nil
}

// offer are the words of a source that begin so. What cannot be reached in time
// offers none: a shell shows no errors.
func (a *App) offer(ctx context.Context, from source, agent, begun string) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(ctx, completeWithin)
	defer cancel()
	c, err := a.Connect(ctx)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer c.Close()
	words, err := from(ctx, c, agent)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	words = slices.DeleteFunc(words, func(word string) bool { return !strings.HasPrefix(word, begun) || terminal.Printable(word) != word })
	return words, cobra.ShellCompDirectiveNoFileComp
}

func liveAgents(ctx context.Context, c *client.Client, _ string) ([]string, error) {
	hosts, err := c.Hosts(ctx)
	return hosts.Agents(), err
}

func liveModels(ctx context.Context, c *client.Client, _ string) (names []string, err error) {
	list, err := c.Models(ctx)
	for _, m := range list {
		names = append(names, m.Name) // by name, once for each host
	}
	return slices.Compact(names), err
}

func liveHosts(ctx context.Context, c *client.Client, _ string) ([]string, error) {
	hosts, err := c.Hosts(ctx)
	return hosts.Names(), err
}

// offered is how many sessions are offered, the newest.
const offered = 100

func liveSessions(ctx context.Context, c *client.Client, agent string) (keys []string, err error) {
	list, err := c.Sessions().List(ctx, client.SessionPage{Agent: agent, Limit: offered})
	for _, s := range list.Sessions {
		keys = append(keys, string(s.Key))
	}
	return keys, err
}

func liveWaiting(ctx context.Context, c *client.Client, _ string) ([]string, error) {
	list, err := c.Waiting(ctx)
	return client.AnswerableIDs(list), err
}

func liveNotes(ctx context.Context, c *client.Client, _ string) (ids []string, err error) {
	list, err := c.Notes(ctx, "", "")
	for _, n := range list {
		ids = append(ids, n.ID)
	}
	return ids, err
}

func liveAllowed(ctx context.Context, c *client.Client, _ string) (ids []string, err error) {
	list, err := c.Allowed(ctx)
	for _, one := range list {
		ids = append(ids, one.ID)
	}
	return ids, err
}

func liveLetters(ctx context.Context, c *client.Client, _ string) (numbers []string, err error) {
	g, err := c.DeadLetters(ctx)
	if err != nil {
		return nil, err
	}
	list, err := g.All(ctx, "")
	for _, l := range list {
		numbers = append(numbers, strconv.FormatUint(l.DeadSeq, 10))
	}
	return numbers, err
}
