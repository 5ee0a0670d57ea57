package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"agenthost/bus"
	"agenthost/client"
	"agenthost/doors"

	"github.com/nats-io/nuid"
	"github.com/rs/zerolog"
)

// Options are for Serve.
type Options struct {
	From    string // the person at the editor
	Version string
	Log     zerolog.Logger
}

// An agent serves one editor.
type agent struct {
	doors.Agent
	desk *doors.Desk
	conn *conn
	opt  Options

	mu       sync.Mutex
	forms    bool             // the editor shows them
	sessions map[string]*turn // that are open; nil: without a prompt under way
}

// Choose is the agent of a name; without one that which is the only.
func Choose(ctx context.Context, desk *doors.Desk, name string) (doors.Agent, error) {
	list, err := desk.Agents(ctx)
	if err != nil {
		return doors.Agent{}, fmt.Errorf("list the agents: %w", err)
	}
	var ids []string
	for _, a := range list {
		if a.ID == name {
			return a, nil
		}
		ids = append(ids, a.ID)
	}
	switch {
	case len(list) == 0:
		return doors.Agent{}, errors.New("no agent is reached by acp: no host answers, or doors of all agents leave it out; start one with: agenthost run")
	case name != "":
		return doors.Agent{}, fmt.Errorf("agent %q is not reached by acp; there is %s", name, strings.Join(ids, ", "))
	case len(list) > 1:
		return doors.Agent{}, fmt.Errorf("there are several agents; name one of %s", strings.Join(ids, ", "))
	}
	return list[0], nil
}

// answerFor is how long prompts may go on behind the end of the input.
const answerFor = 30 * time.Second

// Serve serves an agent on two streams until ctx ends, or in does and what has come is
// answered. The desk has to run.
func Serve(ctx context.Context, desk *doors.Desk, chosen doors.Agent, in io.ReadCloser, out io.Writer, opt Options) error {
	a := &agent{Agent: chosen, desk: desk, conn: newConn(in, out), opt: opt, sessions: map[string]*turn{}}
	ctx, cancel := context.WithCancel(ctx)
	defer context.AfterFunc(ctx, func() { _ = in.Close() })()
	var requests sync.WaitGroup
	err := a.conn.read(func(m message) { a.dispatch(ctx, m, &requests) })
	answered := make(chan struct{})
	go func() { defer close(answered); requests.Wait() }()
	if err == nil {
		a.finish(ctx, answered)
	}
	cancel()
	<-answered
	if errors.Is(err, io.ErrClosedPipe) {
		return nil // ctx has ended
	}
	return err
}

// finish returns once all is answered, behind the end of the input.
func (a *agent) finish(ctx context.Context, answered <-chan struct{}) {
	wait := time.NewTimer(answerFor)
	defer wait.Stop()
	select {
	case <-answered:
	case <-a.conn.lost:
	case <-ctx.Done():
	case <-wait.C:
	}
}

// dispatch begins a request. What has to be in order is done at once.
func (a *agent) dispatch(ctx context.Context, m message, requests *sync.WaitGroup) {
	if !m.isCall() && m.Method != "session/cancel" {
		return // a notification, which nothing is to be done about
	}
	work := a.begin(ctx, m)
	if !m.isCall() {
		return
	}
	requests.Go(func() {
		result, err := work()
		a.conn.reply(m.ID, result, err)
	})
}

// begin takes a request, and returns what is left to do.
func (a *agent) begin(ctx context.Context, m message) func() (any, error) {
	fail := func(err error) func() (any, error) {
		return func() (any, error) { return nil, err }
	}
	switch m.Method {
	case "initialize":
		return begun(m, a.initialize)
	case "authenticate":
		return func() (any, error) { return struct{}{}, nil } // the user who starts the program has the rights of the host
	case "session/new":
		return begun(m, a.newSession)
	case "session/load":
		return begun(m, func(r sessionRequest) (any, error) { return a.load(ctx, r.SessionID) })
	case "session/cancel":
		var r sessionRequest
		if json.Unmarshal(m.Params, &r) == nil {
			a.cancel(r.SessionID)
		}
		return fail(&rpcError{Code: codeRequest, Message: "session/cancel is a notification; send it without an id"})
	case "session/prompt":
		var r promptRequest
		if err := decode(m, &r); err != nil {
			return fail(err)
		}
		t, err := a.take(r.SessionID)
		if err != nil {
			return fail(err)
		}
		return func() (any, error) {
			defer a.give(t)
			return t.run(ctx, r)
		}
	default:
		return fail(&rpcError{Code: codeMethod, Message: fmt.Sprintf("no method %q", m.Method)})
	}
}

// begun decodes the parameters of a request for do.
func begun[P any](m message, do func(P) (any, error)) func() (any, error) {
	return func() (any, error) {
		var p P
		if err := decode(m, &p); err != nil {
			return nil, err
		}
		return do(p)
	}
}

func decode(m message, p any) error {
	if len(m.Params) == 0 {
		return wrong("%s: params are missing", m.Method)
	}
	if err := json.Unmarshal(m.Params, p); err != nil {
		return wrong("%s: params: %s", m.Method, bus.JSONFault(err))
	}
	return nil
}

func (a *agent) initialize(r initializeRequest) (any, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.forms = r.ClientCapabilities.Elicitation != nil && r.ClientCapabilities.Elicitation.Form != nil
	return initializeResponse{
		ProtocolVersion: protocolVersion,
		AgentCapabilities: agentCapabilities{
			LoadSession: true, PromptCapabilities: promptCapabilities{Image: true, EmbeddedContext: true},
		},
		AgentInfo: implementation{Name: "agenthost", Title: a.ID, Version: a.opt.Version}, AuthMethods: []any{},
	}, nil
}

func (a *agent) newSession(r newRequest) (any, error) {
	if len(r.MCPServers) > 0 {
		a.opt.Log.Warn().Int("servers", len(r.MCPServers)).Msg("MCP servers of the editor are not used: the agent has the tools of its configuration")
	}
	id := nuid.Next()
	a.open(id)
	return sessionRequest{SessionID: id}, nil
}

func (a *agent) open(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, ok := a.sessions[id]; !ok {
		a.sessions[id] = nil
	}
}

func (a *agent) place(id string) doors.Place {
	return doors.Place{Agent: a.ID, Conversation: id, From: a.opt.From}
}

// sid names a session in subjects.
func (a *agent) sid(id string) (string, error) {
	sid, err := client.SessionID(a.ID, a.desk.Key(a.place(id)))
	if err != nil {
		return "", wrong("session %q: %v", id, err)
	}
	return sid, nil
}

func noSession(id string) error {
	return &rpcError{Code: codeNotFound, Message: fmt.Sprintf("session %q is not known; begin one with session/new", id)}
}

// take makes a turn of a session that has none.
func (a *agent) take(id string) (*turn, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	t, ok := a.sessions[id]
	switch {
	case !ok:
		return nil, noSession(id)
	case t != nil:
		return nil, &rpcError{Code: codeRequest, Message: "the session has a prompt under way; wait for its end, or cancel it"}
	}
	t = &turn{agent: a, id: id, cancelled: make(chan struct{})}
	a.sessions[id] = t
	return t, nil
}

func (a *agent) give(t *turn) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sessions[t.id] = nil
}

func (a *agent) cancel(id string) {
	a.mu.Lock()
	t := a.sessions[id]
	a.mu.Unlock()
	if t != nil {
		t.cancelOnce.Do(func() { close(t.cancelled) })
	}
}

func (a *agent) update(id string, u update) {
	a.conn.notify("session/update", map[string]any{"sessionId": id, "update": u})
}

// hasForms reports whether the editor shows forms.
func (a *agent) hasForms() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.forms
}

// kinds are those of tools, for the picture that an editor shows.
var kinds = map[string][]string{
	"read": {"read_file", "list_files", "read_"}, "edit": {"write_file", "edit_file"}, "search": {"search", "find", "grep"},
	"execute": {"run_command", "exec", "shell"}, "fetch": {"fetch", "web"}, "delete": {"delete", "remove"},
}

func kindOf(tool string) string {
	name := tool[strings.LastIndexByte(tool, '.')+1:]
	for kind, names := range kinds {
		if slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(name, n) }) {
			return kind
		}
	}
	return "other"
}
