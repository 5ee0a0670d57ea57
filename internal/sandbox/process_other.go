//go:build !unix

package sandbox

import (
	"context"
	"errors"
	"runtime"
)

// Run needs process groups.
func (Command) Run(context.Context) (Result, error) {
	return Result{}, errors.New("not possible on " + runtime.GOOS)
}
