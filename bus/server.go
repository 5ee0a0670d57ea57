package bus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
)

const startWithin = 30 * time.Second

// An embedded is the server in this process. It may be replaced by another on
// the same store, which the host's own connection and all others reach as
// after a restart.
type embedded struct {
	opts    *server.Options // of each server that is started
	log     zerolog.Logger
	release func() // gives up the lock of the store

	current atomic.Pointer[server.Server] // one that has stopped, when no other could be started
	mu      sync.Mutex                    // held while it is replaced
	closed  bool
}

// embed starts the server in this process and connects to it.
func (b *Bus) embed(ctx context.Context, name string, opts []nats.Option) error {
	o, err := b.cfg.serverOptions(name, b.Log)
	if err != nil {
		return err
	}
	if guarded(o) && o.NoAuthUser == "" && !b.cfg.identified() {
		return fmt.Errorf("nats.embedded.config %q asks for credentials; set nats.user and nats.password, or nats.token, nats.nkey, nats.creds",
			b.cfg.Embedded.Config)
	}
	release, err := AwaitLock(ctx, func() (func(), error) { return lockStore(o.StoreDir) })
	if err != nil {
		return err
	}
	if err := b.admit(o); err != nil {
		release()
		return err
	}
	if b.embedded, err = startEmbedded(ctx, o, release, b.Log); err != nil {
		return err
	}
	err = b.join(o, append(opts, nats.InProcessServer(b.embedded),
		nats.ConnectHandler(nil), nats.PingInterval(nats.DefaultPingInterval)))
	if err != nil {
		return err
	}
	return serveChannels(b.NC, o)
}

func startEmbedded(ctx context.Context, o *server.Options, release func(), log zerolog.Logger) (*embedded, error) {
	ns, err := startFirst(ctx, o, log)
	if err != nil {
		release()
		return nil, err
	}
	if err := noteAddress(o); err != nil {
		stopServer(ns)
		release()
		return nil, err
	}
	e := &embedded{opts: o, log: log, release: release}
	e.current.Store(ns)
	return e, nil
}

// startFirst starts a server and has those that follow take its port, where
// any was asked for.
func startFirst(ctx context.Context, o *server.Options, log zerolog.Logger) (*server.Server, error) {
	if err := portFree(o); err != nil {
		return nil, err
	}
	ns, err := startServer(ctx, o.Clone(), log)
	if err != nil {
		return nil, err
	}
	if a, ok := ns.Addr().(*net.TCPAddr); ok {
		o.Port = a.Port
	}
	return ns, nil
}

// InProcessConn connects to the server that runs now.
func (e *embedded) InProcessConn() (net.Conn, error) { return e.current.Load().InProcessConn() }

// reopen replaces the server by one that has read the store again.
func (e *embedded) reopen(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return server.ErrServerNotRunning
	}
	stopServer(e.current.Load())
	ns, err := startServer(ctx, e.opts.Clone(), e.log)
	if err != nil {
		return err
	}
	e.current.Store(ns)
	return nil
}

func (e *embedded) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	stopServer(e.current.Load())
	forgetAddress(e.opts.StoreDir)
	e.release()
}

// join connects to the server in this process.
func (b *Bus) join(o *server.Options, opts []nats.Option) (err error) {
	cfg := b.cfg
	cfg.TLS = TLS{} // nothing to encrypt inside a process
	b.NC, b.JS, err = dial(cfg, opts)
	if err != nil && !admits(o) && guarded(o) {
		// A pipe breaks before the server's answer is through.
		return fmt.Errorf("%w; nats.embedded.config %q may not know these credentials", err, b.cfg.Embedded.Config)
	}
	return err
}

// portFree asks before the server does, whose own report is a line in its log.
func portFree(o *server.Options) error {
	if o.DontListen || o.Port < 0 {
		return nil
	}
	port := cmp.Or(o.Port, server.DEFAULT_PORT)
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", net.JoinHostPort(o.Host, strconv.Itoa(port)))
	if err == nil {
		return l.Close()
	}
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("port %d is taken; set nats.embedded.listen to another address or to \"\" for none, or nats.url to use the server that is there: %w", port, err)
	}
	return fmt.Errorf("nats.embedded.listen: %w", err)
}

// startServer returns once the server takes connections. Recovering a large
// store is part of the start and takes the time that it takes.
func startServer(ctx context.Context, o *server.Options, log zerolog.Logger) (*server.Server, error) {
	ns, err := server.NewServer(o)
	if err != nil {
		return nil, fmt.Errorf("configure the embedded server: %w", err)
	}
	if a, ok := o.CustomClientAuthentication.(*admission); ok {
		a.serve(ns)
	}
	words := &serverLog{log: log}
	ns.SetLoggerV2(words, log.GetLevel() <= zerolog.TraceLevel, false, false)
	ns.Start()
	if err := awaitServer(ctx, ns, words); err != nil {
		stopServer(ns)
		return nil, fmt.Errorf("start the embedded server with store %q: %w", o.StoreDir, err)
	}
	return ns, nil
}

func awaitServer(ctx context.Context, ns *server.Server, words *serverLog) error {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	for {
		if fatal := words.lastWords(); fatal != "" {
			return fmt.Errorf("%s; if it is the store, make it a folder that this user can write, or set nats.embedded.store to another", fatal)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if ns.ReadyForConnections(100 * time.Millisecond) {
			return nil
		}
	}
}

func stopServer(ns *server.Server) {
	ns.Shutdown()
	ns.WaitForShutdown()
}

// guarded reports whether the server asks for credentials.
func guarded(o *server.Options) bool {
	return o.Username != "" || o.Authorization != "" || len(o.Users) > 0 || len(o.Nkeys) > 0 ||
		len(o.TrustedOperators) > 0 || o.AuthCallout != nil
}
