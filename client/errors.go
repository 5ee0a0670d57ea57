package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"strconv"
	"strings"

	"agenthost/bus"
	"agenthost/config"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
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

// Explain adds to the error of a call what the connection knows of it: that it
// was lost, that NATS refused a permission, or that there is no JetStream. It may
// be called after Close, and returns any other error as it is.
func (c *Client) Explain(err error) error {
	if err == nil {
		return nil
	}
	return hintJetStream(c.hintRefused(c.hintLost(err)))
}

// permissionsHint is the cure where NATS refuses a permission: a new version may need more of them.
const permissionsHint = "this user of NATS needs the permission; agenthost nats-permissions prints all that a role needs"

// questionRefused is what NATS has said to a question that no host has answered, if it has
// refused it: silence would say that hosts have nothing. before is the last error of the connection
// before the question.
func questionRefused(nc *nats.Conn, subject string, before error) error {
	err := nc.LastError()
	if errors.Is(err, before) || !errors.Is(err, nats.ErrPermissionViolation) || !strings.Contains(err.Error(), strconv.Quote(subject)) {
		return nil
	}
	return fmt.Errorf("ask hosts: %w: %s", err, permissionsHint)
}

// hintLost adds to an error without an answer that the connection has broken.
func (c *Client) hintLost(err error) error {
	silent := errors.Is(err, nats.ErrReconnectBufExceeded) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout)
	if _, unsent := errors.AsType[awayError](err); unsent || !silent || !c.lost.Load() {
		return err
	}
	return fmt.Errorf("%w; the connection to NATS was lost: once it is back, check whether this was done, and repeat it if not", err)
}

// hintRefused adds to an error what NATS has refused meanwhile: a request that
// is refused gets no answer, and the refusal arrives separately. Without the
// token that is the whole error: that no host answers would mislead.
func (c *Client) hintRefused(err error) error {
	refused := c.nc.LastError()
	if errors.Is(err, nats.ErrPermissionViolation) || !errors.Is(refused, nats.ErrPermissionViolation) {
		return err
	}
	if c.anonymousAgain() {
		return fmt.Errorf("permission denied: %s", bus.LogInHint)
	}
	return fmt.Errorf("%w; %w: %s", err, refused, permissionsHint)
}

// anonymousAgain is Anonymous by a connection of its own: the Client may be
// closed by now.
func (c *Client) anonymousAgain() bool {
	if !c.own {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), requestWithin)
	defer cancel()
	nc, _, err := bus.Dial(ctx, c.cfg, "client", zerolog.Nop())
	if err != nil {
		return false
	}
	defer nc.Close()
	return bus.Anonymous(ctx, nc)
}

// hintJetStream adds to an error of JetStream what helps where there is none.
func hintJetStream(err error) error {
	if errors.Is(err, nats.ErrNoResponders) || errors.Is(err, jetstream.ErrJetStreamNotEnabled) {
		return fmt.Errorf("%w; JetStream does not answer there: start that server with -js, or with a jetstream block in its configuration", err)
	}
	return err
}

// hintHost adds to an error of connecting what helps where there is no NATS, or
// another service, or a server that is just dying.
func hintHost(err error) error {
	if _, file := errors.AsType[*fs.PathError](err); file {
		return err // whose number is a net.Error too
	}
	if errors.Is(err, nats.ErrAuthorization) {
		return fmt.Errorf("%w; name a user of that NATS with --token, --user and --password, --creds, --nkey or --context", err)
	}
	if _, network := errors.AsType[net.Error](err); network || errors.Is(err, nats.ErrNoServers) || errors.Is(err, io.EOF) {
		return fmt.Errorf(`%w; start a host with "agenthost run", or name its NATS with -s`, err)
	}
	return err
}

// hintAway says in words that a connection which is made again takes nothing meanwhile.
func hintAway(err error) error {
	if errors.Is(err, nats.ErrReconnectBufExceeded) {
		return awayError{err}
	}
	return err
}

// An awayError is what nats.go calls a buffer that is full: it is one of no size.
type awayError struct{ error }

func (awayError) Error() string {
	return "NATS is away at the moment, so nothing was sent; try again once it is back"
}

func (e awayError) Unwrap() error { return e.error }

// hintBucket says what a missing bucket means.
func hintBucket(err error) error {
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return fmt.Errorf("%w: no host has run on this NATS yet", err)
	}
	return err
}
