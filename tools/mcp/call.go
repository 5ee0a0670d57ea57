package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"sync"

	"agenthost/tools"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// rejected is the code of the library's own errors about a request that did not
// reach the server.
const rejected = -32005

// call runs a tool of the server. What was not sent for the end of the connection,
// or was refused because the server has forgotten the session, has not run: it is
// tried again, once.
func (p *peer) call(ctx context.Context, tool string, call tools.Call) (tools.Result, error) {
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
		res, err := p.callOn(ctx, l, tool, call)
		unsent := errors.Is(err, sdk.ErrConnectionClosed) || errors.Is(context.Cause(l.ctx), errForgotten)
		if err == nil || again || !unsent {
			return res, err
		}
	}
}

func (p *peer) callOn(ctx context.Context, l *link, tool string, call tools.Call) (tools.Result, error) {
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.ctx, cancel)()
	a := &asked{ctx: asking, call: call}
	token := p.asked.add(a)
	defer p.asked.remove(token)
	params := &sdk.CallToolParams{Name: tool, Arguments: arguments(call.Args)}
	params.SetProgressToken(token)
	res, err := l.session.CallTool(context.WithValue(asking, askedKey{}, a), params)
	if err != nil {
		return failed(ctx, l, err)
	}
	return result(res), nil
}

// failed says what the error of a call means.
func failed(ctx context.Context, l *link, err error) (tools.Result, error) {
	if ctx.Err() != nil {
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			poke(l.doubt)
		}
		return tools.Result{}, context.Cause(ctx)
	}
	var answer *jsonrpc.Error
	isAnswer := errors.As(err, &answer)
	if isAnswer && answer.Code == rejected {
		return tools.Result{}, err
	}
	if isAnswer && l.ctx.Err() == nil {
		return tools.Result{Text: answer.Message, Failed: true}, nil
	}
	if errors.Is(err, sdk.ErrConnectionClosed) {
		l.end(errGone)
		return tools.Result{}, err
	}
	if errors.Is(err, io.EOF) {
		l.end(errGone)
	}
	if l.ctx.Err() != nil {
		err = context.Cause(l.ctx)
	}
	return tools.Result{}, fmt.Errorf("no answer, whether it took effect is not known: %w", err)
}

func arguments(args json.RawMessage) any {
	if len(bytes.TrimSpace(args)) == 0 {
		return nil
	}
	return args
}

// An asked is a call that a server has not answered yet.
type asked struct {
	ctx  context.Context // ends with the call
	call tools.Call
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
