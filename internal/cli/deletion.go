package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

// A Deletion is what commands that delete share: --force, the question before it, and the
// report after it.
type Deletion struct {
	app   *App
	force bool
}

// Deletion gives cmd the flag --force.
func (a *App) Deletion(cmd *cobra.Command) *Deletion {
	d := &Deletion{app: a}
	cmd.Flags().BoolVar(&d.force, "force", false, "do not ask")
	return d
}

// Alias keeps an earlier name of the flag.
func (d *Deletion) Alias(cmd *cobra.Command, name string) {
	cmd.Flags().BoolVar(&d.force, name, false, "do not ask")
	_ = cmd.Flags().MarkDeprecated(name, "it is --force now") // the flag is there
}

// Check is an error where a person would have to be asked and cannot be.
func (d *Deletion) Check() error {
	if !d.force && !IsTerminal(d.app.Stdin) {
		return Usage("not a terminal: use --force to delete without confirmation")
	}
	return nil
}

// Confirm asks whether n things may be deleted; the error says that they may not.
func (d *Deletion) Confirm(ctx context.Context, n int, what string) error {
	if n > 0 && !d.force && !d.app.Confirm(ctx, "delete "+Count(n, what)+" for good?") {
		return errors.New("nothing was deleted")
	}
	return nil
}

// Report prints that n things were deleted.
func (d *Deletion) Report(n int, what string) error {
	if d.app.JSON {
		return d.app.PrintJSON(map[string]int{"deleted": n})
	}
	fmt.Fprintf(d.app.Stdout, "deleted %s\n", Count(n, what))
	return nil
}
