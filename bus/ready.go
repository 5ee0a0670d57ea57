package bus

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// What Ready does not wait for, because waiting does not mend it.
var (
	ErrOldServer   = errors.New("NATS is too old")
	ErrNoJetStream = errors.New("JetStream is not enabled")
	ErrDenied      = errors.New("NATS refuses this user")

	ErrSmallPayload = errors.New("NATS takes too little in one message")
)

const (
	oldestMajor, oldestMinor = 2, 14
	oldestLevel              = 4 // JetStream's API level of 2.14

	// leastPayload is what headers may take of a message, and as much for what it says.
	leastPayload = 16 << 10

	readyPause   = 100 * time.Millisecond
	readyAttempt = 2 * time.Second
)

// Ready returns nil once the Bus is connected to a server that can serve a
// host. It waits, and logs that it does, while NATS is away or JetStream is
// starting. It returns an error when ctx ends, when the Bus is closed, and for
// what waiting does not mend.
func (b *Bus) Ready(ctx context.Context) error {
	pause := time.NewTicker(readyPause)
	defer pause.Stop()
	waiting, mover := WaitLog{Log: b.Log.With().Str("server", b.address()).Logger()}, b.Mover()
	var err error
	for {
		last := b.attempt(ctx)
		mover.Failed(last)
		switch {
		case last == nil || hopeless(last) && (!withoutJetStream(last) || !mover.others()):
			return last
		case err == nil || ctx.Err() == nil: // an attempt that is broken off says nothing
			err = last
		}
		waiting.Say(err, "waiting for NATS")
		select {
		case <-pause.C:
		case <-ctx.Done():
			return fmt.Errorf("wait for NATS at %s: %w: %w", b.address(), ctx.Err(), err)
		}
	}
}

// Fit returns nil when a connection made by Dial is to a server that can serve
// a host. It waits for nothing.
func Fit(ctx context.Context, nc *nats.Conn, js jetstream.JetStream, cfg Config) error {
	b := &Bus{NC: nc, JS: js, cfg: cfg, watch: newConnWatch(zerolog.Nop())}
	return b.attempt(ctx)
}

// Healthy returns nil when the Bus is connected and JetStream answers before
// ctx ends.
func (b *Bus) Healthy(ctx context.Context) error {
	if err := b.connected(); err != nil {
		return err
	}
	if _, err := b.JS.AccountInfo(ctx); err != nil {
		if errors.Is(err, jetstream.ErrJetStreamNotEnabled) {
			return b.explain(err)
		}
		return fmt.Errorf("ask JetStream at %s: %w", b.address(), ExplainLeader(err))
	}
	return nil
}

func hopeless(err error) bool {
	for _, final := range []error{ErrOldServer, ErrNoJetStream, ErrDenied, ErrSmallPayload, nats.ErrConnectionClosed} {
		if errors.Is(err, final) {
			return true
		}
	}
	return false
}

func (b *Bus) attempt(ctx context.Context) error {
	if err := b.connected(); err != nil {
		return err
	}
	if version := b.NC.ConnectedServerVersion(); older(version) {
		return fmt.Errorf("%w: it is %s, and agenthost needs %d.%d or newer", ErrOldServer, version, oldestMajor, oldestMinor)
	}
	ctx, cancel := context.WithTimeout(ctx, readyAttempt)
	defer cancel()
	info, err := b.JS.AccountInfo(ctx)
	if err != nil {
		return b.explain(err)
	}
	if info.API.Level < oldestLevel { // a new server may pass on to an older one
		return fmt.Errorf("%w: its JetStream has API level %d, and agenthost needs %d, which NATS %d.%d has",
			ErrOldServer, info.API.Level, oldestLevel, oldestMajor, oldestMinor)
	}
	if most := b.NC.MaxPayload(); most < leastPayload { // that of the account comes after the connection is made
		return fmt.Errorf("%w: %d bytes, and agenthost needs %d; raise max_payload of the server, or the limit of the account", ErrSmallPayload, most, leastPayload)
	}
	return nil
}

func (b *Bus) connected() error {
	if b.NC.IsConnected() {
		return b.watch.inbox.lacking(b.NC)
	}
	if b.NC.IsClosed() {
		return fmt.Errorf("use NATS at %s: %w", b.address(), nats.ErrConnectionClosed)
	}
	err := b.watch.lastError(b.NC)
	if refused(err) {
		return fmt.Errorf("%w: %s: %w", ErrDenied, b.address(), err)
	}
	return fmt.Errorf("connect to NATS at %s: %w", b.address(), err)
}

// explain words the answer of JetStream, or the lack of one.
func (b *Bus) explain(err error) error {
	where := b.address()
	if b.cfg.Domain != "" {
		where += ", domain " + strconv.Quote(b.cfg.Domain)
	}
	switch {
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled) && APIPrefix(b.JS) != OwnAPI: // as when its line is cut
		return fmt.Errorf("JetStream of %s does not answer at %s; is the line to it up, and is it named right? (%w)",
			strings.TrimSuffix(APIPrefix(b.JS), "."), where, err)
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled):
		return fmt.Errorf("%w at %s; start that server with -js, or with a jetstream block in its configuration (%w)", ErrNoJetStream, b.connectedTo(), err)
	case errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
		return fmt.Errorf("%w at %s for the account of this user; enable it for the account", ErrNoJetStream, where)
	}
	// A server drops what it forbids and says so on the side.
	if last := b.NC.LastError(); errors.Is(last, nats.ErrPermissionViolation) {
		return fmt.Errorf("%w JetStream at %s: %w", ErrDenied, where, last)
	}
	return fmt.Errorf("ask JetStream at %s: %w", where, ExplainLeader(err))
}

// ExplainLeader says what would help where the answer is that JetStream has no leader.
func ExplainLeader(err error) error {
	if api, ok := errors.AsType[*jetstream.APIError](err); ok && api.ErrorCode == errNoLeader {
		return fmt.Errorf("its cluster has no leader, as when half of its servers are away; start those that are: %w", err)
	}
	return err
}

// address is where the Bus connects to, without credentials.
func (b *Bus) address() string {
	if b.server != nil {
		return "the embedded server"
	}
	return redact(strings.Join(b.NC.Opts.Servers, ","))
}

// connectedTo is the server that the Bus is connected to, without credentials.
func (b *Bus) connectedTo() string {
	if at := b.NC.ConnectedUrl(); b.server == nil && at != "" {
		return redact(at)
	}
	return b.address()
}

// older reports whether version is before the oldest that is served. What has
// no number, such as a build of one's own, is left to the check of the level.
func older(version string) bool {
	var major, minor int
	if n, _ := fmt.Sscanf(strings.TrimPrefix(version, "v"), "%d.%d", &major, &minor); n < 2 {
		return false
	}
	return major < oldestMajor || major == oldestMajor && minor < oldestMinor
}
