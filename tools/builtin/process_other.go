//go:build !unix

package builtin

import (
	"context"
	"errors"
	"runtime"
)

// run needs process groups.
func (s shell) run(context.Context) (ending, error) {
	return ending{}, errors.New("not possible on " + runtime.GOOS)
}
