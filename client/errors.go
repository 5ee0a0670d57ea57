package client

import (
	"errors"
	"fmt"
	"strings"

	"agenthost/config"
)

// The codes of errors in the answers of a host, as HTTP has them.
const (
	CodeBad         = "400"
	CodeForbidden   = "403"
	CodeNotFound    = "404"
	CodeBusy        = "409"
	CodeUnavailable = "503"
)

// ErrNoHost is the error of a call that needs a host where none answers.
var ErrNoHost = errors.New(`no host answers; start one with "agenthost run"`)

// ErrNotStored is the error of sending something to NATS that has no stream for
// it.
var ErrNotStored = errors.New("there is no stream for it: no host has run on this NATS yet")

// An UnknownError is the error of naming an agent or a model that no host has.
type UnknownError struct {
	What  string // agent or model
	Name  string
	Known []string // the names that there are
}

// Error names the one that was probably meant, else all that there are.
func (e *UnknownError) Error() string {
	if near := config.Nearest(e.Name, e.Known); near != "" {
		return fmt.Sprintf("no %s %q; did you mean %q?", e.What, e.Name, near)
	}
	return fmt.Sprintf("no %s %q; there is %s", e.What, e.Name, strings.Join(e.Known, ", "))
}
