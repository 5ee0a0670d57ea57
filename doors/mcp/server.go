package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"sync"

	"agenthost/doors"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// errStopping ends the calls of a server that stops, and refuses further ones. Runs go on.
var errStopping = errors.New("the host stops; call again")

// instructions are what a client tells its model about the tools.
const instructions = `Each tool is an agent: give it a task or a message in text, and it answers in words. ` +
	`A call without a session begins a new conversation, whose name is in the result; name it in session to go on there. ` +
	`A result that says what waits is answered by another call of the same tool.`

// inputSchema is that of every tool.
var inputSchema = json.RawMessage(`{"type":"object","properties":{` +
	`"text":{"type":"string","description":"The message to the agent, or the answer to what waits."},` +
	`"session":{"type":"string","description":"Name of a conversation to go on with, from an earlier result or of your own. Without it a new one begins."},` +
	`"answers":{"type":"string","description":"The id of what waits, when text is the answer to it."}` +
	`},"required":["text"]}`)

// A server has the agents that some clients reach as its tools.
type server struct {
	desk     *doors.Desk
	instance string // of their messages
	from     string // the person; empty: anonymous
	overHTTP bool
	order    *order // of the calls on stdio
	sdk      *sdk.Server

	life context.Context // of all calls
	end  context.CancelCauseFunc

	forms   context.Context // ends when no client can fill in one any more
	noForms context.CancelFunc

	mu    sync.Mutex
	tools map[string]doors.Agent
	calls map[string]map[*call]bool // by the session of MCP
	open  sync.WaitGroup            // the calls
}

func newServer(desk *doors.Desk, instance, from, version string) *server {
	s := &server{
		desk: desk, instance: instance, from: from,
		tools: map[string]doors.Agent{}, calls: map[string]map[*call]bool{}, order: newOrder(),
	}
	s.life, s.end = context.WithCancelCause(context.Background())
	s.forms, s.noForms = context.WithCancel(context.Background())
	s.sdk = sdk.NewServer(&sdk.Implementation{Name: "agenthost", Version: cmp.Or(version, "0")}, &sdk.ServerOptions{
		Instructions: instructions,
		Logger:       slog.New(slog.DiscardHandler),
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{ListChanged: true}},
	})
	return s
}

// stop ends all calls, waits until they have ended, and closes the streams of clients.
func (s *server) stop() {
	s.mu.Lock()
	s.end(errStopping)
	s.mu.Unlock()
	s.open.Wait()
	for session := range s.sdk.Sessions() {
		_ = session.Close() // the client may be gone
	}
}

// offer makes agents the tools of the server. Clients are told when that is a change.
func (s *server) offer(agents []doors.Agent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var gone []string
	for id := range s.tools {
		if !slices.ContainsFunc(agents, func(a doors.Agent) bool { return a.ID == id }) {
			gone = append(gone, id)
			delete(s.tools, id)
		}
	}
	if len(gone) > 0 {
		s.sdk.RemoveTools(gone...)
	}
	for _, a := range agents {
		if known, ok := s.tools[a.ID]; ok && known == a {
			continue
		}
		s.tools[a.ID] = a
		s.sdk.AddTool(tool(a), func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return s.call(ctx, a.ID, req)
		})
	}
}

func tool(a doors.Agent) *sdk.Tool {
	return &sdk.Tool{
		Name: a.ID, Description: cmp.Or(a.Description, "The agent "+a.ID+"."), InputSchema: inputSchema,
	}
}

// call handles the call of a tool.
func (s *server) call(ctx context.Context, agent string, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c := &call{server: s, agent: agent, request: req, session: req.Session, cancel: cancel}
	if !s.begin(c) {
		return failure(context.Cause(s.life)), nil
	}
	defer s.done(c)
	defer context.AfterFunc(s.life, func() { cancel(context.Cause(s.life)) })()
	return c.run(ctx)
}

func (s *server) begin(c *call) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life.Err() != nil {
		return false
	}
	s.open.Add(1)
	id := c.session.ID()
	if s.calls[id] == nil {
		s.calls[id] = map[*call]bool{}
	}
	s.calls[id][c] = true
	return true
}

func (s *server) done(c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := c.session.ID()
	if delete(s.calls[id], c); len(s.calls[id]) == 0 {
		delete(s.calls, id)
	}
	s.open.Done()
}

// hangUp ends the calls of a session of MCP, whose client ends it. Their runs go on.
func (s *server) hangUp(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.calls[id] {
		c.cancel(errSessionEnded)
	}
}
