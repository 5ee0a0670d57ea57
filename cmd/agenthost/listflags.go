package main

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"agenthost/internal/terminal"

	"github.com/spf13/cobra"
)

// listFlags are those that the commands which list something share.
type listFlags struct {
	agent string
	since age
	watch bool
}

// watchEvery is how often a list that is watched is made again.
const watchEvery = 2 * time.Second

// register gives cmd the flags; show makes the list once.
func (l *listFlags) register(a *app, cmd *cobra.Command, show func(ctx context.Context) error) {
	cmd.Flags().StringVar(&l.agent, "agent", "", "only of the agent with that `id`")
	cmd.Flags().Var(&l.since, "since", "only what is no older: a duration such as 90m or 2d, or a date")
	cmd.Flags().BoolVar(&l.watch, "watch", false, "show it again whenever it changes, until interrupted")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			if l.agent != "" && l.agent != args[0] {
				return usage("--agent %s, and %s: name one agent", l.agent, args[0])
			}
			l.agent = args[0]
		}
		if l.agent != "" {
			if err := checkAgent(l.agent); err != nil {
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
func (a *app) watch(ctx context.Context, show func(context.Context) error) error {
	screen, stdout, stderr := a.screen(), a.stdout, a.stderr
	a.fixed = &screen
	defer func() { a.stdout, a.stderr, a.fixed = stdout, stderr, nil }()
	last := ""
	for {
		var shown bytes.Buffer
		a.stdout, a.stderr = &shown, &shown
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

// keeps reports whether a list has room for what is of that agent and time.
func (l *listFlags) keeps(agent string, at time.Time) bool {
	return (l.agent == "" || l.agent == agent) && !at.Before(l.since.from(time.Now()))
}

// An age is how far back a list goes: a duration, or a point in time. The zero
// age is all.
type age struct {
	text  string
	back  time.Duration
	point time.Time
}

func (a *age) String() string { return a.text }

// Type is what the help shows for the value.
func (a *age) Type() string { return "time" }

// Set reads 90m, 2d, 2026-11-22 or a time as RFC 3339 has it.
func (a *age) Set(text string) error {
	a.text = text
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n > 0 {
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

// from is the oldest time that counts.
func (a *age) from(now time.Time) time.Time {
	if a.back > 0 {
		return now.Add(-a.back)
	}
	return a.point
}

// elapsed is a time that has passed, in the two largest units at most.
func elapsed(d time.Duration) string {
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

// screen is what standard output leads to.
func (a *app) screen() terminal.Screen {
	if a.fixed != nil {
		return *a.fixed
	}
	return terminal.On(a.stdout, a.getenv)
}
