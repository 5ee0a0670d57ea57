package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// The versions of the protocol that a session begins with.
	usualVersion  = "2025-11-25"
	modernVersion = "2026-07-28"

	// longestMessage bounds one message of a server. A file of some MB comes as
	// one line, twice, and the library needs several times its size to read it;
	// a model sees 50 KB of it. What is longer costs no more than the bound.
	longestMessage = 16 << 20
	// A list comes in pages, of which each may be as long as a message.
	mostTools   = 10_000
	longestList = 16 << 20 // of tools
	longestText = 1 << 20  // of a list that is a result: a model sees 50 KB of it

	// forgottenGrace is how long the other calls of a session that its server has
	// forgotten may still be answered.
	forgottenGrace = time.Second
)

// pingLimit is how long a server that is in doubt may take to answer; tests set it.
var pingLimit = 10 * time.Second

var errGone = errors.New("connection lost")

// A link is one connection to a server.
type link struct {
	ctx     context.Context // ends when the connection is of no use any more; its cause says why
	end     context.CancelCauseFunc
	calls   context.Context // ends the calls in flight, with ctx or a little later
	session *sdk.ClientSession
	changed chan struct{} // the server may have other tools, or not know the session
	doubt   chan struct{} // the server did not answer in time
	watch   sync.WaitGroup
	carrier carrier
	own     []own // that its listing has besides the server's tools
}

// A carrier is what a session runs over.
type carrier struct {
	transport sdk.Transport
	why       func() error  // what became of it; nil when it does not know
	junk      func() string // what it has said last that is no message; nil over HTTP
	stop      func()        // ends it
}

// connect begins a session. Over HTTP it begins the modern way, from which the
// library goes back to the usual one when the server does not know it, and over
// stdio, where a server may leave unanswered what it does not know, the other way
// round. The way that has worked is the first one of the next session.
func (p *peer) connect(ctx context.Context) (*link, error) {
	first := p.spoken
	if first == "" && p.cfg.URL != "" {
		first = modernVersion
	}
	l, err := p.dial(ctx, cmp.Or(first, usualVersion))
	answer, refused := errors.AsType[*jsonrpc.Error](err)
	if refused && !isRejected(answer) && first != modernVersion {
		l, err = p.dial(ctx, modernVersion)
	}
	switch {
	case err != nil:
		p.spoken = ""
	case l.session.InitializeResult().ProtocolVersion >= modernVersion:
		p.spoken = modernVersion
	default:
		p.spoken = usualVersion
	}
	return l, err
}

func (p *peer) dial(ctx context.Context, version string) (*link, error) {
	l := &link{changed: make(chan struct{}, 1), doubt: make(chan struct{}, 1), own: ownTools(p.cfg)}
	l.ctx, l.end = context.WithCancelCause(context.WithoutCancel(ctx))
	l.endCalls()
	var err error
	if l.carrier, err = p.carry(l); err != nil {
		l.end(err)
		return nil, err
	}
	l.session, err = p.client(l).Connect(ctx, l.carrier.transport, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		err = fmt.Errorf("begin a session: %w", l.reason(err))
		if l.carrier.junk != nil {
			err = withJunk(err, l.carrier.junk())
		}
		l.end(err)
		l.carrier.stop()
		return nil, err
	}
	l.watch.Go(func() { l.end(l.reason(l.session.Wait())) })
	return l, nil
}

// endCalls ends the calls in flight after ctx. After a forgotten session they
// have a while for their own answers: those that get a 404 too have not run and
// can be sent again.
func (l *link) endCalls() {
	calls, end := context.WithCancel(context.WithoutCancel(l.ctx))
	l.calls = calls
	context.AfterFunc(l.ctx, func() {
		if l.forgotten() {
			time.AfterFunc(forgottenGrace, end)
			return
		}
		end()
	})
}

func (p *peer) carry(l *link) (carrier, error) {
	if p.cfg.URL != "" {
		return p.overHTTP(l)
	}
	return overStdio(p.cfg, p.log, p.hear)
}

// client is the library's client of l alone, so that what it hears is about l.
func (p *peer) client(l *link) *sdk.Client {
	return sdk.NewClient(&sdk.Implementation{Name: "agenthost", Version: p.opts.Version}, &sdk.ClientOptions{
		Capabilities: &sdk.ClientCapabilities{}, // no roots: servers have their folders from their command line
		ElicitationHandler: func(ctx context.Context, req *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			return p.elicit(ctx, req.Params), nil
		},
		// Some servers say this before they have answered the first request, so
		// nothing is asked of them here.
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { poke(l.changed) },
		ProgressNotificationHandler: func(_ context.Context, req *sdk.ProgressNotificationClientRequest) {
			p.asked.progress(req.Params)
		},
	})
}

// reason is err, or what became of the carrier when err only says that it ended.
func (l *link) reason(err error) error {
	ended := func(end error) bool { return errors.Is(err, end) }
	if err != nil && !slices.ContainsFunc([]error{io.EOF, os.ErrClosed, syscall.EPIPE, sdk.ErrConnectionClosed, errGone}, ended) {
		return err
	}
	if l.carrier.why != nil {
		if why := l.carrier.why(); why != nil {
			return why
		}
	}
	if err == nil {
		return errGone
	}
	return err
}

// close ends the calls in progress, the session and what carries it, and
// returns when all are gone.
func (l *link) close() {
	l.end(errClosed)
	_ = l.session.Close() // what it could not tell the server does not matter any more
	l.carrier.stop()
	l.watch.Wait()
}

// list fetches all pages of the server's tools.
func (l *link) list(ctx context.Context) (listing, error) {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	var all listing
	count := 0
	for params := (&sdk.ListToolsParams{}); ; {
		page, err := l.session.ListTools(ctx, params)
		var refused *jsonrpc.Error
		if errors.As(err, &refused) && refused.Code == jsonrpc.CodeMethodNotFound {
			return listing{}.with(l.own), nil // a server without tools
		}
		if err != nil {
			return listing{}, fmt.Errorf("list tools: %w", err)
		}
		all = all.and(page.Tools)
		count += len(page.Tools)
		switch {
		case all.size > longestList:
			return listing{}, fmt.Errorf("list tools: the list is longer than %d MiB", longestList>>20)
		case page.NextCursor == "":
			return all.with(l.own), nil
		case count > mostTools || len(page.Tools) == 0:
			return listing{}, fmt.Errorf("list tools: the list does not end after %d", count)
		}
		params = &sdk.ListToolsParams{Cursor: page.NextCursor}
	}
}

// ping asks for a sign of life.
func (l *link) ping() error {
	ctx, cancel := context.WithTimeout(l.ctx, pingLimit)
	defer cancel()
	err := l.session.Ping(ctx, nil)
	if errors.Is(err, context.DeadlineExceeded) {
		return errors.New("does not answer any more")
	}
	return nil // an error is an answer too, and an end is seen elsewhere
}

// forgotten reports whether l ended because the server does not know its session.
func (l *link) forgotten() bool { return errors.Is(context.Cause(l.ctx), errForgotten) }

// refusesList reports whether the server does not list its tools any more, as in
// a session that it does not know.
func (l *link) refusesList(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, pingLimit)
	defer cancel()
	_, err := l.session.ListTools(ctx, nil)
	refused, ok := errors.AsType[*httpError](err)
	return ok && refused.code == http.StatusBadRequest || errors.Is(err, errForgotten)
}

// poke leaves a note for who reads c, if there is none yet.
func poke(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
