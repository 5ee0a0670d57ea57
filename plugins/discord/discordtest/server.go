// Package discordtest is a Discord for tests, gateway and REST API, with one bot, the
// people who write to it, and one server.
//
// It keeps what a client relies on: events are numbered and come again on RESUME from
// any number, a nonce is taken once, texts and buttons have their limits. Discord's
// best-known client, discord.js, works on it.
package discordtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// The bot, its role in the server, and the server.
const (
	Token   = "discordtest-token"
	BotID   = "4200"
	BotName = "house"
	RoleID  = "4300"
	GuildID = "5000"
)

// Types of rooms.
const (
	text    = 0
	private = 1
	thread  = 11
)

// A Server is a Discord. Its methods are safe for concurrent use.
type Server struct {
	URL string

	http *httptest.Server

	mu       sync.Mutex
	changed  chan struct{} // closed and replaced at each change
	lastID   int64
	rooms    map[string]*room
	messages []*Message
	nonces   map[string]string // the message of a nonce, by room and nonce
	files    map[string]File
	calls    []Call
	refusals map[string][]Refusal
	gateway  gateway
}

type room struct {
	ID, Parent, Last, Person string
	kind                     int
}

func (r *room) json() map[string]any {
	j := map[string]any{"id": r.ID, "type": r.kind, "last_message_id": nil}
	if r.Last != "" {
		j["last_message_id"] = r.Last
	}
	switch r.kind {
	case private:
		j["recipients"] = []any{person(r.Person, "")}
		return j
	case thread:
		j["parent_id"] = r.Parent
		j["owner_id"] = "1"
		j["thread_metadata"] = map[string]any{"archived": false, "auto_archive_duration": 60, "archive_timestamp": stamp(time.Now()), "locked": false}
	}
	j["guild_id"], j["name"], j["position"], j["permission_overwrites"] = GuildID, "room-"+r.ID, 0, []any{}
	return j
}

// A Call is one of the REST API.
type Call struct {
	Name string // such as POST messages
	Path string
	Body map[string]any
	File *File
}

// A File is an attachment, in either direction.
type File struct {
	Name string
	MIME string
	Data []byte
	Size int64 // where it is not that of Data
}

// A Refusal is the answer to the next call of a name.
type Refusal struct {
	Status  int
	Code    int
	Message string
	// RetryAfter is in seconds, for status 429.
	RetryAfter float64
	Global     bool
	// Lost is true for a call that is carried out but never answered.
	Lost bool
	// Spent is for a call that is carried out and whose answer says that the next one
	// has to wait so many seconds.
	Spent float64
}

// New starts a server that ends with the test.
func New(t testing.TB) *Server {
	s := Start()
	t.Cleanup(s.Close)
	return s
}

// Start starts a server; Close ends it.
func Start() *Server {
	s := &Server{
		changed: make(chan struct{}), lastID: 1 << 40,
		rooms: map[string]*room{}, nonces: map[string]string{}, files: map[string]File{}, refusals: map[string][]Refusal{},
		gateway: gateway{sessions: map[string]*session{}},
	}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	s.URL = s.http.URL
	return s
}

// Close ends the server and its connections.
func (s *Server) Close() {
	s.Disconnect(1001)
	s.http.CloseClientConnections()
	s.http.Close()
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	path, ok := strings.CutPrefix(r.URL.Path, "/api/v10")
	switch {
	case r.URL.Path == "/ws/" || r.URL.Path == "/ws":
		s.serveGateway(w, r)
	case strings.HasPrefix(r.URL.Path, "/files/"):
		s.serveFile(w, strings.TrimPrefix(r.URL.Path, "/files/"))
	case !ok:
		http.NotFound(w, r)
	case r.Header.Get("Authorization") != "Bot "+Token && !strings.HasPrefix(path, "/interactions/"):
		refuse(w, Refusal{Status: http.StatusUnauthorized, Message: "401: Unauthorized"})
	default:
		s.serveCall(w, r, path)
	}
}

func (s *Server) serveCall(w http.ResponseWriter, r *http.Request, path string) {
	c, err := readCall(r, path)
	if err != nil {
		refuse(w, Refusal{Status: http.StatusBadRequest, Code: 50109, Message: err.Error()})
		return
	}
	next := s.begin(c)
	if next.Status != 0 {
		refuse(w, next)
		return
	}
	s.mu.Lock()
	result, refused := s.carryOut(r, c)
	s.touch()
	s.mu.Unlock()
	switch {
	case next.Lost:
		panic(http.ErrAbortHandler)
	case refused != nil:
		refuse(w, *refused)
		return
	case next.Spent > 0:
		w.Header().Set("X-RateLimit-Bucket", "b")
		w.Header().Set("X-RateLimit-Remaining", "0")
		w.Header().Set("X-RateLimit-Reset-After", strconv.FormatFloat(next.Spent, 'f', -1, 64))
	}
	if result == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(result)
}

// readCall reads a call, whose body is JSON or a form with files.
func readCall(r *http.Request, path string) (Call, error) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	name := parts[len(parts)-1]
	if len(parts) > 3 && parts[2] == "messages" {
		name = "message"
	}
	if len(parts) == 2 && parts[0] == "channels" {
		name = "channel"
	}
	c := Call{Name: r.Method + " " + name, Path: path}
	kind, about, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if kind == "multipart/form-data" {
		return c, readForm(multipart.NewReader(r.Body, about["boundary"]), &c)
	}
	data, err := io.ReadAll(r.Body)
	if err != nil || len(data) == 0 {
		return c, err
	}
	return c, json.Unmarshal(data, &c.Body)
}

func readForm(form *multipart.Reader, c *Call) error {
	for {
		part, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		data, err := io.ReadAll(part)
		if err != nil {
			return err
		}
		if part.FileName() != "" {
			c.File = &File{Name: part.FileName(), MIME: part.Header.Get("Content-Type"), Data: data}
		} else if err := json.Unmarshal(data, &c.Body); err != nil {
			return err
		}
	}
}

// begin records a call and returns how it shall be answered.
func (s *Server) begin(c Call) Refusal {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, c)
	s.touch()
	queued := s.refusals[c.Name]
	if len(queued) == 0 {
		return Refusal{}
	}
	s.refusals[c.Name] = queued[1:]
	return queued[0]
}

// touch wakes those who wait for a change. Called with the lock held.
func (s *Server) touch() {
	close(s.changed)
	s.changed = make(chan struct{})
}

func refuse(w http.ResponseWriter, r Refusal) {
	w.Header().Set("Content-Type", "application/json")
	body := map[string]any{"code": r.Code, "message": r.Message}
	if r.Status == http.StatusTooManyRequests {
		body["retry_after"], body["global"] = r.RetryAfter, r.Global
		scope := "user"
		if r.Global {
			scope = "global"
			w.Header().Set("X-RateLimit-Global", "true")
		}
		w.Header().Set("X-RateLimit-Scope", scope)
		w.Header().Set("Retry-After", fmt.Sprint(int(r.RetryAfter)+1))
	}
	w.WriteHeader(r.Status)
	_ = json.NewEncoder(w).Encode(body)
}

// Refuse answers the next call of a name, and those after it, with one refusal each.
func (s *Server) Refuse(name string, r ...Refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusals[name] = append(s.refusals[name], r...)
}

// TooMany is the refusal of Discord's rate limit.
func TooMany(seconds float64) Refusal {
	return Refusal{Status: http.StatusTooManyRequests, Message: "You are being rate limited.", RetryAfter: seconds}
}

// Calls are the calls of a name so far; all when it is empty.
func (s *Server) Calls(name string) []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Call
	for _, c := range s.calls {
		if name == "" || c.Name == name {
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
