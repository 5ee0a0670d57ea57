package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"agenthost/tools"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// isRejected reports whether err is the library's own, about a request that did
// not get through to the server, or whose answer did not come back.
func isRejected(err *jsonrpc.Error) bool {
	return err.Code == -32005 && err.Message == "rejected by transport"
}

var (
	errUnsent  = errors.New("not sent")
	errUnknown = errors.New("interrupted; its outcome is unknown")
)

// call runs a tool of the server. It is sent again, once, when the server cannot
// have run it: it was not sent for the end of the connection, or was itself
// refused because the server does not know the session any more. When its
// outcome is unknown it is sent again only if that is safe.
func (p *peer) call(ctx context.Context, tool tools.Tool, call tools.Call) (tools.Result, error) {
	if _, ok := ctx.Deadline(); !ok { // some servers never answer
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, tools.DefaultTimeout)
		defer cancel()
	}
	for again := false; ; again = true {
		l, err := p.connected(ctx)
		if err != nil {
			return tools.Result{}, fmt.Errorf("unavailable: %w", err)
		}
		res, err := p.callOn(ctx, l, tool.Name, call)
		repeatable := errors.Is(err, errUnsent) || tool.Rerun && errors.Is(err, errUnknown)
		if err == nil || again || !repeatable || ctx.Err() != nil {
			return res, err
		}
	}
}

func (p *peer) callOn(ctx context.Context, l *link, tool string, call tools.Call) (tools.Result, error) {
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.calls, cancel)()
	a := &asked{ctx: asking, call: call}
	token := p.asked.add(a)
	defer p.asked.remove(token)
	asking = context.WithValue(asking, askedKey{}, a)
	if own, ok := p.state().own[tool]; ok {
		res, err := own.run(asking, l.session, call.Args)
		if err != nil {
			return failed(ctx, l, a, err)
		}
		return res, nil
	}
	params := &sdk.CallToolParams{Name: tool, Arguments: arguments(call.Args)}
	params.SetProgressToken(token)
	if call.TraceParent != "" {
		params.Meta["traceparent"] = call.TraceParent
	}
	if call.TraceState != "" {
		params.Meta["tracestate"] = call.TraceState
	}
	res, err := l.session.CallTool(asking, params)
	if err != nil {
		return failed(ctx, l, a, err)
	}
	return result(res), nil
}

// failed says what the error of a call means.
func failed(ctx context.Context, l *link, a *asked, err error) (tools.Result, error) {
	if ctx.Err() != nil {
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			poke(l.doubt)
		}
		return tools.Result{}, context.Cause(ctx)
	}
	if !a.taken.Load() {
		return tools.Result{}, unsent(l, err)
	}
	if text, ok := refusal(err); ok {
		return tools.Result{Text: text, Failed: true}, nil
	}
	refused, isStatus := errors.AsType[*httpError](err)
	if isStatus && refused.refused() {
		return refusedBy(ctx, l, refused)
	}
	if errors.Is(err, io.EOF) && !overURL(err) { // of a single request it is not the end of the session
		l.end(errGone)
	}
	if l.ctx.Err() != nil {
		err = context.Cause(l.ctx)
	}
	return tools.Result{}, fmt.Errorf("%w: %w", errUnknown, withoutURL(err))
}

// unsent is the error of a call that the server has not seen. Where the
// connection is over, another one may do better.
func unsent(l *link, err error) error {
	if errors.Is(err, sdk.ErrConnectionClosed) {
		l.end(errGone)
	}
	if l.ctx.Err() != nil {
		return fmt.Errorf("%w: %w", errUnsent, context.Cause(l.ctx))
	}
	return fmt.Errorf("unavailable: %w", withoutURL(err))
}

// refusal is the text of an error that the server answered with. The library
// takes the server's codes for its own where they are the same: of a request that
// was sent, "connection closed" is the server's word unless it says whose end it
// was.
func refusal(err error) (text string, ok bool) {
	if errors.Is(err, sdk.ErrConnectionClosed) {
		_, said, _ := strings.Cut(err.Error(), `calling "tools/call": `)
		own := strings.HasPrefix(said, "client is closing") || strings.HasPrefix(said, "server is closing")
		return said, !own
	}
	answer, ok := errors.AsType[*jsonrpc.Error](err)
	if !ok || isRejected(answer) {
		return "", false
	}
	return answer.Message, true
}

// refusedBy is what a call comes to that was refused by its status. Some servers
// say 400 instead of 404 when they do not know the session: then they refuse to
// list their tools too.
func refusedBy(ctx context.Context, l *link, e *httpError) (tools.Result, error) {
	if e.code == http.StatusBadRequest && e.session && (l.refusesList(ctx) || l.forgotten()) {
		l.end(errForgotten)
		return tools.Result{}, fmt.Errorf("%w: %w", errUnsent, errForgotten)
	}
	if e.said != "" {
		return tools.Result{Text: e.said, Failed: true}, nil
	}
	return tools.Result{}, fmt.Errorf("refused: %w", e)
}

func overURL(err error) bool {
	_, ok := errors.AsType[*url.Error](err)
	return ok
}

// withoutURL is err without the address of the server, in which there may be a
// key.
func withoutURL(err error) error {
	if over, ok := errors.AsType[*url.Error](err); ok {
		return over.Err
	}
	return err
}

func arguments(args json.RawMessage) any {
	if len(bytes.TrimSpace(args)) == 0 {
		return nil
	}
	return args
}

// An asked is a call that a server has not answered yet.
type asked struct {
	ctx   context.Context // ends with the call
	call  tools.Call
	taken atomic.Bool // the server may have run it

	questions atomic.Int32 // of the server, that wait for an answer
}

type askedKey struct{}

// An inFlight holds the calls that a server has not answered yet. The zero
// inFlight is empty.
type inFlight struct {
	mu    sync.Mutex
	last  int
	calls map[string]*asked // by progress token
	idle  func()            // called when there are none; nil: nothing is
}

// whenIdle calls do once no call is in flight; do must not block.
func (f *inFlight) whenIdle(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.idle = do; len(f.calls) == 0 {
		do()
	}
}

func (f *inFlight) add(a *asked) (token string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.calls == nil {
		f.calls = map[string]*asked{}
	}
	f.last++
	token = strconv.Itoa(f.last)
	f.calls[token] = a
	return token
}

func (f *inFlight) remove(token string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.calls, token)
	if len(f.calls) == 0 && f.idle != nil {
		f.idle()
	}
}

// only is the call in flight if there is just one.
func (f *inFlight) only() *asked {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.calls) != 1 {
		return nil
	}
	return slices.Collect(maps.Values(f.calls))[0]
}

// progress hands what a server says to the call that it is about. Some go on
// about calls that have ended.
func (f *inFlight) progress(said *sdk.ProgressNotificationParams) {
	token, _ := said.ProgressToken.(string)
	f.mu.Lock()
	a := f.calls[token]
	f.mu.Unlock()
	if a != nil && a.call.Progress != nil {
		a.call.Progress(progressText(said))
	}
}

// progressText is the message of said, or how far it is.
func progressText(said *sdk.ProgressNotificationParams) string {
	if said.Message != "" {
		return said.Message
	}
	done := strconv.FormatFloat(said.Progress, 'g', 6, 64)
	if said.Total == 0 {
		return done
	}
	return done + " of " + strconv.FormatFloat(said.Total, 'g', 6, 64)
}
