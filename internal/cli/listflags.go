package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"agenthost/client"
	"agenthost/internal/terminal"

	"github.com/spf13/cobra"
)

// ListFlags are those that the commands which list something share.
type ListFlags struct {
	Agent string
	Since Age
	watch bool
}

// watchEvery is how often a list that is watched is made again.
const watchEvery = 2 * time.Second

// Register gives cmd the flags; show makes the list once.
func (l *ListFlags) Register(a *App, cmd *cobra.Command, show func(ctx context.Context) error) {
	cmd.Flags().StringVar(&l.Agent, "agent", "", "only for the agent with this `id`")
	cmd.Flags().Var(&l.Since, "since", "only what is newer: a duration such as 90m or 2d, or a date")
	cmd.Flags().BoolVar(&l.watch, "watch", false, "show the list again when it changes, until interrupted")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			if l.Agent != "" && l.Agent != args[0] {
				return Usage("--agent %s, and %s: name one agent", l.Agent, args[0])
			}
			l.Agent = args[0]
		}
		if l.Agent != "" {
			if err := CheckAgent(l.Agent); err != nil {
				return err
			}
		}
		if l.watch {
			return a.watch(cmd.Context(), show)
		}
		return show(cmd.Context())
	}
}

// watch shows what show prints, and again whenever that is something else, until
// ctx ends. What goes to standard error stands below it.
func (a *App) watch(ctx context.Context, show func(context.Context) error) error {
	screen, stdout, stderr := a.Screen(), a.Stdout, a.Stderr
	a.Fixed = &screen
	defer func() { a.Stdout, a.Stderr, a.Fixed = stdout, stderr, nil }()
	last := ""
	for {
		var shown bytes.Buffer
		a.Stdout, a.Stderr = &shown, &shown
		err := show(ctx)
		switch {
		case ctx.Err() != nil:
			return nil // interrupting it is how it ends
		case err != nil:
			return err
		}
		if shown.String() != last {
			last = shown.String()
			if err := screen.Redraw(stdout, last); err != nil {
				return fmt.Errorf("print list: %w", err)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(watchEvery):
		}
	}
}

// Keeps reports whether a list has room for what is of that agent and time.
func (l *ListFlags) Keeps(agent string, at time.Time) bool {
	return (l.Agent == "" || l.Agent == agent) && !at.Before(l.Since.From(time.Now()))
}

// None prints what an empty list has to say. What is left of an agent that was removed is
// listed; the name of one without anything may be misspelt.
func (l *ListFlags) None(ctx context.Context, a *App, text string) error {
	fmt.Fprintln(a.Stdout, text)
	if l.Agent != "" {
		a.WarnUnknown(ctx, l.Agent)
	}
	return nil
}

// WarnUnknown warns when hosts run and none has the agent. Without a connection that is not
// known.
func (a *App) WarnUnknown(ctx context.Context, agent string) {
	if a.client == nil {
		return
	}
	var unknown *client.UnknownError
	if _, err := a.client.HostsOf(ctx, agent); errors.As(err, &unknown) {
		a.Warn("%v", unknown)
	}
}

// An Age is how far back a list goes: a duration, or a point in time. The zero
// Age is all.
type Age struct {
	text  string
	back  time.Duration
	point time.Time
}

func (a *Age) String() string { return a.text }

// Type is what the help shows for the value.
func (a *Age) Type() string { return "time" }

// mostDays is what a duration can hold.
const mostDays = 100_000

// Set reads 90m, 2d, 2026-11-22 or a time as RFC 3339 has it.
func (a *Age) Set(text string) error {
	a.text = text
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n > 0 && n <= mostDays {
			a.back = time.Duration(n) * 24 * time.Hour
			return nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		a.back = d
		return nil
	}
	for _, layout := range []string{time.RFC3339, time.DateTime, time.DateOnly} {
		if at, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			a.point = at
			return nil
		}
	}
	return fmt.Errorf("want a duration such as 90m or 2d, or a date such as 2026-11-22")
}

// From is the oldest time that counts.
func (a *Age) From(now time.Time) time.Time {
	if a.back > 0 {
		return now.Add(-a.back)
	}
	return a.point
}

// Elapsed is a time that has passed, in the two largest units at most.
func Elapsed(d time.Duration) string {
	d = max(d, 0)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd%02dh", int(d.Hours())/24, int(d.Hours())%24)
}

// Screen is what standard output leads to.
func (a *App) Screen() terminal.Screen {
	if a.Fixed != nil {
		return *a.Fixed
	}
	return terminal.On(a.Stdout, a.Getenv)
}
