package mcp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
	"unicode/utf8"

	"agenthost/doors"
	"agenthost/internal/httpauth"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// largestBody is that of a request; a message has room for less.
	largestBody = 4 << 20
	bodyWithin  = 30 * time.Second
	// idleSession is after what time without a request a session is forgotten.
	idleSession = time.Hour
	// mostSessions a token has at once: each takes memory.
	mostSessions = 10_000
	// lookEvery is how often a change of the agents is looked for, and whether the token of a
	// standing stream is still good.
	lookEvery = time.Second
)

// The headers of the protocol.
const (
	headerSession = "Mcp-Session-Id"
	headerVersion = "Mcp-Protocol-Version"
)

// A handler serves MCP over HTTP.
type handler struct {
	parts doors.Parts

	mu        sync.Mutex
	closed    bool
	instances map[string]*instance
}

// An instance is what those have who come with the same token: no other can see their
// sessions.
type instance struct {
	visit  doors.Visit // the last one; a token may be made again, for other agents
	server *server
	// Sessions are for versions of the protocol that have some, single for those that
	// have a request and its answer.
	sessions, single http.Handler
}

// Handler serves MCP over HTTP. It is a doors.Runner.
func Handler(p doors.Parts) http.Handler {
	return &handler{parts: p, instances: map[string]*instance{}}
}

// Run tells clients of agents that come and go, and ends their calls with ctx.
func (h *handler) Run(ctx context.Context) error {
	for tick := time.NewTicker(lookEvery); ; {
		select {
		case <-tick.C:
			for _, in := range h.all(false) {
				in.server.offer(h.parts.AgentsOf(h.lastVisit(in)))
			}
		case <-ctx.Done():
			tick.Stop()
			for _, in := range h.all(true) {
				in.server.stop()
			}
			return nil
		}
	}
}

func (h *handler) all(last bool) (list []*instance) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = h.closed || last
	for _, in := range h.instances {
		list = append(list, in)
	}
	return list
}

// instance is that of a visit; nil once the host stops.
func (h *handler) instance(v doors.Visit) *instance {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil
	}
	in := h.instances[v.Instance]
	if in == nil {
		in = newInstance(h.parts, v)
		h.instances[v.Instance] = in
	}
	in.visit = v
	return in
}

func (h *handler) lastVisit(in *instance) doors.Visit {
	h.mu.Lock()
	defer h.mu.Unlock()
	return in.visit
}

func newInstance(p doors.Parts, v doors.Visit) *instance {
	s := newServer(p.Desk, v.Instance, "", p.Version)
	s.overHTTP = true
	server := func(*http.Request) *sdk.Server { return s.sdk }
	// Who may come by which name is asked before.
	common := sdk.StreamableHTTPOptions{DisableLocalhostProtection: true, MaxRequestBodyBytes: largestBody}
	single, sessions := common, common
	single.Stateless, single.PropagateRequestCancellation = true, true
	sessions.EventStore, sessions.SessionTimeout = sdk.NewMemoryEventStore(nil), idleSession
	return &instance{
		server:   s,
		sessions: sdk.NewStreamableHTTPHandler(server, &sessions),
		single:   sdk.NewStreamableHTTPHandler(server, &single),
	}
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	visit, no := h.parts.Visit(r)
	if no != nil {
		refuse(w, no)
		return
	}
	in := h.instance(visit)
	if in == nil {
		refuse(w, &httpauth.Refusal{Status: http.StatusServiceUnavailable, Why: errStopping.Error()})
		return
	}
	body, no := in.admit(w, r)
	if no != nil {
		refuse(w, no)
		return
	}
	if !utf8.Valid(body) {
		answerJSON(w, http.StatusBadRequest, errorOf(nil, jsonrpc.CodeParseError, noMessage+"the body is not UTF-8"))
		return
	}
	if r.Method == http.MethodPost && len(bytes.TrimSpace(body)) == 0 {
		answerJSON(w, http.StatusBadRequest, errorOf(nil, jsonrpc.CodeParseError, noMessage+"the body is empty"))
		return
	}
	if refuseIDs(w, body) {
		return
	}
	if id, lacks := lacksSession(r, body); lacks {
		answerJSON(w, http.StatusBadRequest, errorOf(id, jsonrpc.CodeInvalidRequest, noSession))
		return
	}
	in.server.offer(visit.Agents)
	if r.Method == http.MethodDelete {
		in.server.hangUp(r.Header.Get(headerSession))
		in.sessions.ServeHTTP(&worded{ResponseWriter: w}, r)
		return
	}
	if r.Method == http.MethodGet { // it stands until its client goes away
		var end func()
		r, end = h.whileGood(r)
		defer end()
	}
	alive := keepAlive(w)
	defer alive.stop()
	answer := &worded{ResponseWriter: alive, request: body}
	if r.Header.Get(headerVersion) >= modern {
		in.single.ServeHTTP(answer, r)
	} else {
		in.sessions.ServeHTTP(answer, r)
	}
}

// whileGood is a request that ends once its token is good no more, or when end is called.
func (h *handler) whileGood(r *http.Request) (good *http.Request, end func()) {
	ctx, cancel := context.WithCancel(r.Context())
	var group sync.WaitGroup
	group.Go(func() {
		tick := time.NewTicker(lookEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if _, no := h.parts.Visit(r); no != nil {
				cancel()
			}
		}
	})
	return r.WithContext(ctx), func() { cancel(); group.Wait() }
}

// admit reads the body of a request, and says why it is not served.
func (in *instance) admit(w http.ResponseWriter, r *http.Request) ([]byte, *httpauth.Refusal) {
	if r.Method != http.MethodPost {
		return nil, nil
	}
	begins := r.Header.Get(headerSession) == "" && r.Header.Get(headerVersion) < modern
	if begins && in.count() >= mostSessions {
		return nil, &httpauth.Refusal{Status: http.StatusServiceUnavailable, Why: "there are too many sessions; end some, or try again in an hour"}
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyWithin)) // a recorder of tests has none
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, largestBody))
	_ = control.SetReadDeadline(time.Time{})
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, &httpauth.Refusal{Status: http.StatusRequestEntityTooLarge, Why: "the request is larger than 4 MB"}
	case err != nil:
		return nil, &httpauth.Refusal{Status: http.StatusBadRequest, Why: "the request has not come whole: " + err.Error()}
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return body, nil
}

func (in *instance) count() (n int) {
	for range in.server.sdk.Sessions() {
		n++
	}
	return n
}

// codeRefused is that of errors before the protocol.
const codeRefused = -32000

// refuse answers as the protocol does, so that a client shows why.
func refuse(w http.ResponseWriter, no *httpauth.Refusal) {
	if no.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	answerJSON(w, no.Status, errorOf(nil, codeRefused, no.Why))
}

func answerJSON(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may be gone
}
