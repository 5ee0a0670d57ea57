// Package telegramtest is a Bot API for tests, with one bot and the people who
// write to it.
//
// It keeps what a client relies on: an update comes again until a later offset is
// asked for, a second poller ends the first with 409, a text is parsed and counted
// as Telegram does it. Telegram's own client for bots, grammY, works on it.
package telegramtest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// The bot.
const (
	Token    = "4200:telegramtest-token"
	BotID    = 4200
	Username = "house_bot"
)

// A Server is a Bot API. Its methods are safe for concurrent use.
type Server struct {
	URL string

	http    *httptest.Server
	ended   context.CancelFunc
	pushing sync.WaitGroup

	mu       sync.Mutex
	changed  chan struct{} // closed and replaced at each change
	updates  []update      // not acknowledged yet
	last     update
	lastID   int64 // of an update
	lastMsg  int64
	poller   context.CancelCauseFunc // ends the call that waits for updates
	webhook  webhook
	chats    map[int64]*chat
	messages []*Message // all that are shown, also those of persons
	files    map[string]File
	calls    []Call
	refusals map[string][]Refusal
	noDrafts bool
}

type chat struct {
	kind     string
	title    string
	migrated int64
}

// A Call is one that the bot has made.
type Call struct {
	Method string
	Params map[string]any
	File   *File
}

// A File is an attachment, in either direction.
type File struct {
	Kind string // photo, document, voice, audio or video
	Name string
	MIME string
	Data []byte
	Size int64 // where it is not that of Data
}

// A Refusal is the answer to the next call of a method.
type Refusal struct {
	Code        int
	Description string
	RetryAfter  int
	MigrateTo   int64
	// Lost is true for a call that is carried out but never answered.
	Lost bool
}

// New starts a server that ends with the test.
func New(t testing.TB) *Server {
	s := Start()
	t.Cleanup(s.Close)
	return s
}

// Start starts a server; Close ends it.
func Start() *Server {
	ctx, cancel := context.WithCancel(context.Background())
	s := &Server{
		ended: cancel, changed: make(chan struct{}),
		chats: map[int64]*chat{}, files: map[string]File{}, refusals: map[string][]Refusal{},
	}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	s.URL = s.http.URL
	s.pushing.Go(func() { s.push(ctx) })
	return s
}

// Close ends the server and its open calls.
func (s *Server) Close() {
	s.ended()
	s.pushing.Wait()
	s.http.CloseClientConnections()
	s.http.Close()
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, "/file")
	token, method, _ := strings.Cut(strings.TrimPrefix(path, "/bot"), "/")
	switch {
	case !strings.Contains(token, ":"):
		reply(w, nil, &Refusal{Code: http.StatusNotFound, Description: "Not Found"})
	case token != Token:
		reply(w, nil, &Refusal{Code: http.StatusUnauthorized, Description: "Unauthorized"})
	case path != r.URL.Path:
		s.serveFile(w, method)
	default:
		s.serveMethod(w, r, method)
	}
}

func (s *Server) serveMethod(w http.ResponseWriter, r *http.Request, method string) {
	call, err := readCall(r, method)
	if err != nil {
		reply(w, nil, badRequest("%v", err))
		return
	}
	refusal := s.begin(call)
	if refusal != nil && !refusal.Lost {
		reply(w, nil, refusal)
		return
	}
	if method == "getUpdates" {
		s.getUpdates(w, r, call)
		return
	}
	result, refused := s.carryOut(call)
	if refusal != nil { // lost
		panic(http.ErrAbortHandler)
	}
	reply(w, result, refused)
}

// begin records a call and returns how it shall be refused.
func (s *Server) begin(c Call) *Refusal {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, c)
	s.touch()
	queued := s.refusals[c.Method]
	if len(queued) == 0 {
		return nil
	}
	s.refusals[c.Method] = queued[1:]
	return &queued[0]
}

// touch wakes those who wait for a change. Called with the lock held.
func (s *Server) touch() {
	close(s.changed)
	s.changed = make(chan struct{})
}

func reply(w http.ResponseWriter, result any, refused *Refusal) {
	w.Header().Set("Content-Type", "application/json")
	if refused == nil {
		_ = json.NewEncoder(w).Encode(map[string]any{"ok": true, "result": result})
		return
	}
	body := map[string]any{"ok": false, "error_code": refused.Code, "description": refused.Description}
	switch {
	case refused.RetryAfter > 0:
		body["parameters"] = map[string]any{"retry_after": refused.RetryAfter}
	case refused.MigrateTo != 0:
		body["parameters"] = map[string]any{"migrate_to_chat_id": refused.MigrateTo}
	}
	w.WriteHeader(refused.Code)
	_ = json.NewEncoder(w).Encode(body)
}

func badRequest(format string, args ...any) *Refusal {
	return &Refusal{Code: http.StatusBadRequest, Description: "Bad Request: " + fmt.Sprintf(format, args...)}
}

// Refuse answers the next call of a method, and those after it, with one refusal
// each.
func (s *Server) Refuse(method string, r ...Refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusals[method] = append(s.refusals[method], r...)
}

// TooMany is the refusal of Telegram's rate limit.
func TooMany(seconds int) Refusal {
	return Refusal{Code: http.StatusTooManyRequests, Description: fmt.Sprintf("Too Many Requests: retry after %d", seconds), RetryAfter: seconds}
}

// NoDrafts makes it a server from the time before drafts.
func (s *Server) NoDrafts() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noDrafts = true
}

// Calls are the calls of a method so far; of all when it is empty.
func (s *Server) Calls(method string) []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Call
	for _, c := range s.calls {
		if method == "" || c.Method == method {
			all = append(all, c)
		}
	}
	return all
}

// Wait waits until a condition holds, at most a minute.
func (s *Server) Wait(t testing.TB, what string, holds func() bool) {
	t.Helper()
	limit := time.NewTimer(time.Minute)
	defer limit.Stop()
	tick := time.NewTicker(20 * time.Millisecond) // for what does not change here
	defer tick.Stop()
	for !holds() {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-changed:
		case <-tick.C:
		case <-limit.C:
			t.Fatalf("waited for a minute: %s", what)
		}
	}
}
