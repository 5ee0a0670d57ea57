// Package natsserver is the NATS server inside a host's process: its options, its
// token, the rights of connections without that, and its log.
//
// Open starts it, unless the configuration names another, and opens a Bus on it.
// Start returns once the server takes connections; Close waits until it has
// stopped. WatchStore starts it again after its disk was full.
package natsserver

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

	"agenthost/bus"
	"agenthost/internal/lockfile"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/rs/zerolog"
)

const startWithin = 30 * time.Second

// A Server is the NATS server in this process. It may be replaced by another on
// the same store, which the host's own connection and all others reach as
// after a restart.
type Server struct {
	opts    *server.Options // of each server that is started
	log     zerolog.Logger
	release func()                // gives up the lock of the store
	fault   atomic.Pointer[error] // of the store; nil: none

	current atomic.Pointer[server.Server] // one that has stopped, when no other could be started
	mu      sync.Mutex                    // held while it is replaced
	closed  bool
}

// Start starts the server once it has the lock of its store. ctx bounds only
// the start.
func Start(ctx context.Context, opt bus.Options) (*Server, error) {
	o, err := serverOptions(opt)
	if err != nil {
		return nil, err
	}
	if guarded(o) && o.NoAuthUser == "" && !opt.Config.Identified() {
		return nil, fmt.Errorf("nats.embedded.config %q asks for credentials; set nats.user and nats.password, or nats.token, nats.nkey, nats.creds",
			opt.Config.Embedded.Config)
	}
	release, err := lockfile.Await(ctx, func() (func(), error) { return lockfile.Store(o.StoreDir) })
	if err != nil {
		return nil, err
	}
	s := &Server{opts: o, log: opt.Log, release: release}
	if err := s.start(ctx, opt.Config.Embedded); err != nil {
		release()
		return nil, err
	}
	return s, nil
}

func (s *Server) start(ctx context.Context, e bus.Embedded) error {
	if err := admit(s.opts, e); err != nil {
		return err
	}
	ns, err := startFirst(ctx, s.opts, s.log)
	if err != nil {
		return err
	}
	if err := noteAddress(s.opts); err != nil {
		stopServer(ns)
		return err
	}
	s.current.Store(ns)
	return nil
}

// URL is where others reach the server; it is empty when it has no port.
func (s *Server) URL() string {
	if s.opts.DontListen {
		return ""
	}
	return s.current.Load().ClientURL()
}

// Token is the password of User; it is empty when the server's own file says who
// may connect.
func (s *Server) Token() string {
	if a, ok := s.opts.CustomClientAuthentication.(*admission); ok {
		return a.token
	}
	return ""
}

// Guarded reports whether the server asks for credentials.
func (s *Server) Guarded() bool { return guarded(s.opts) }

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
func (s *Server) InProcessConn() (net.Conn, error) { return s.current.Load().InProcessConn() }

// Reopen replaces the server by one that has read the store again.
func (s *Server) Reopen(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return server.ErrServerNotRunning
	}
	stopServer(s.current.Load())
	ns, err := startServer(ctx, s.opts.Clone(), s.log)
	if err != nil {
		return err
	}
	s.current.Store(ns)
	return nil
}

// Close stops the server, waits for it, and gives up its store.
func (s *Server) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	stopServer(s.current.Load())
	forgetAddress(s.opts.StoreDir)
	s.release()
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
	lines := &serverLog{log: log}
	ns.SetLoggerV2(lines, log.GetLevel() <= zerolog.TraceLevel, false, false)
	ns.Start()
	if err := awaitServer(ctx, ns, lines); err != nil {
		stopServer(ns)
		return nil, fmt.Errorf("start the embedded server with store %q: %w", o.StoreDir, err)
	}
	return ns, nil
}

func awaitServer(ctx context.Context, ns *server.Server, lines *serverLog) error {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	for {
		if fatal := lines.fatalLine(); fatal != "" {
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
