// Package matrixtest is a homeserver for tests: as much of Matrix as a channel uses,
// with faults on demand. The clients of others work on it as on a real one.
package matrixtest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// A Server is a homeserver named test.
type Server struct {
	URL string

	http    *httptest.Server
	mu      sync.Mutex
	changed chan struct{} // closed and replaced with each event
	users   map[string]*user
	tokens  map[string]device
	devices map[device]bool
	rooms   map[string]*room
	events  []*Event // of all rooms, in order
	last    *Event   // of Send
	sent    map[string]string
	files   map[string]File
	count   int
	faults  []fault
	drop    chan struct{} // closed to end the syncs that wait
	oldness bool
	logins  int
	limit   int64
}

type user struct {
	password, name string
	data           map[string]json.RawMessage
}

type device struct{ user, id string }

type room struct {
	id     string
	state  map[string]*Event // by type and key
	typing map[string]bool
}

// An Event is one of a room.
type Event struct {
	Room     string         `json:"room_id"`
	ID       string         `json:"event_id"`
	Type     string         `json:"type"`
	Sender   string         `json:"sender"`
	StateKey *string        `json:"state_key,omitempty"`
	Time     int64          `json:"origin_server_ts"`
	Content  map[string]any `json:"content"`
	Unsigned map[string]any `json:"unsigned,omitempty"`

	position int
}

// A File is what was uploaded.
type File struct {
	Name, MIME string
	Data       []byte
}

// New starts a server, which ends with the test.
func New(t testing.TB) *Server {
	s := &Server{
		changed: make(chan struct{}), drop: make(chan struct{}),
		users: map[string]*user{}, tokens: map[string]device{}, devices: map[device]bool{}, rooms: map[string]*room{},
		sent: map[string]string{}, files: map[string]File{}, limit: 50 << 20,
	}
	s.http = httptest.NewServer(s.handler())
	s.URL = s.http.URL
	t.Cleanup(func() {
		s.Disconnect()
		s.http.Close()
	})
	return s
}

// AddUser makes a user and returns its Matrix ID.
func (s *Server) AddUser(local, password string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := "@" + local + ":test"
	s.users[id] = &user{password: password, name: local, data: map[string]json.RawMessage{}}
	return id
}

// AddToken makes a token of a user.
func (s *Server) AddToken(user string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.token(user, "")
}

func (s *Server) token(user, id string) string {
	s.count++
	id = cmp.Or(id, fmt.Sprintf("DEVICE%d", s.count))
	for token, d := range s.tokens {
		if d == (device{user, id}) {
			delete(s.tokens, token)
		}
	}
	token := fmt.Sprintf("token-%d", s.count)
	s.tokens[token], s.devices[device{user, id}] = device{user, id}, true
	return token
}

// Room makes a room whose first member invites the others, who join.
func (s *Server) Room(members ...string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := s.newRoom(members[0])
	for _, member := range members[1:] {
		s.setMember(id, members[0], member, "invite")
		s.setMember(id, member, member, "join")
	}
	return id
}

// Invite invites a user into a room of another.
func (s *Server) Invite(room, by, user string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setMember(room, by, user, "invite")
}

// Remove takes a user out of a room.
func (s *Server) Remove(room, user string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setMember(room, user, user, "leave")
}

// Members are who has joined a room.
func (s *Server) Members(room string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.members(room, "join")
}

// Send puts an event into a room.
func (s *Server) Send(room, sender, kind string, content map[string]any) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = s.add(room, sender, kind, nil, content)
	return s.last.ID
}

// Say writes a text into a room.
func (s *Server) Say(room, sender, text string) string {
	return s.Send(room, sender, "m.room.message", map[string]any{"msgtype": "m.text", "body": text})
}

// SetState has a member set a state of a room, of any kind.
func (s *Server) SetState(room, sender, kind, key string, content map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(room, sender, kind, &key, content)
}

// Messages are the messages of a room that sender has written.
func (s *Server) Messages(room, sender string) []Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []Event
	for _, e := range s.events {
		if e.Room == room && e.Sender == sender && e.Type == "m.room.message" {
			found = append(found, *e)
		}
	}
	return found
}

// AddFile stores a file and returns its address.
func (s *Server) AddFile(f File) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addFile(f)
}

func (s *Server) addFile(f File) string {
	s.count++
	id := fmt.Sprintf("file%d", s.count)
	s.files[id] = f
	return "mxc://test/" + id
}

// File is what is stored at an address.
func (s *Server) File(address string) File {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.files[strings.TrimPrefix(address, "mxc://test/")]
}

// Typing reports whether a user is shown as typing in a room.
func (s *Server) Typing(room, user string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rooms[room] != nil && s.rooms[room].typing[user]
}

// Logins is how often a password was used.
func (s *Server) Logins() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.logins
}

func (s *Server) newRoom(creator string) string {
	s.count++
	id := fmt.Sprintf("!room%d:test", s.count)
	s.rooms[id] = &room{id: id, state: map[string]*Event{}, typing: map[string]bool{}}
	s.add(id, creator, "m.room.create", new(string), map[string]any{"room_version": "11"})
	s.setMember(id, creator, creator, "join")
	return id
}

func (s *Server) setMember(room, by, user, membership string) {
	content := map[string]any{"membership": membership}
	if u := s.users[user]; u != nil {
		content["displayname"] = u.name
	}
	s.add(room, by, "m.room.member", &user, content)
}

// add appends an event; s.mu is held.
func (s *Server) add(room, sender, kind string, key *string, content map[string]any) *Event {
	s.count++
	e := &Event{
		Room: room, ID: fmt.Sprintf("$event%d", s.count), Type: kind, Sender: sender, StateKey: key,
		Time: time.Now().UnixMilli(), Content: content, position: len(s.events) + 1,
	}
	if key != nil {
		name := kind + "\x00" + *key
		if before := s.rooms[room].state[name]; before != nil {
			e.Unsigned = map[string]any{"prev_content": before.Content}
		}
		s.rooms[room].state[name] = e
	}
	s.events = append(s.events, e)
	s.wake()
	return e
}

func (s *Server) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// members are the users of a room with a membership; s.mu is held.
func (s *Server) members(room, membership string) []string {
	var found []string
	for id := range s.users {
		if s.membership(room, id) == membership {
			found = append(found, id)
		}
	}
	return found
}

func (s *Server) membership(room, user string) string {
	r := s.rooms[room]
	if r == nil || r.state["m.room.member\x00"+user] == nil {
		return ""
	}
	m, _ := r.state["m.room.member\x00"+user].Content["membership"].(string)
	return m
}

// refuse answers with an error of Matrix.
func refuse(w http.ResponseWriter, status int, code, words string) {
	answer(w, status, map[string]any{"errcode": code, "error": words})
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// Repeat shows what Send has sent last once more, as after a sync that was lost.
func (s *Server) Repeat() {
	s.mu.Lock()
	defer s.mu.Unlock()
	again := *s.last
	again.position = len(s.events) + 1
	s.events = append(s.events, &again)
	s.wake()
}

// Invited are the rooms into which a user is invited.
func (s *Server) Invited(user string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var rooms []string
	for id := range s.rooms {
		if s.membership(id, user) == "invite" {
			rooms = append(rooms, id)
		}
	}
	return rooms
}

// Devices are those as which a user has ever logged in.
func (s *Server) Devices(user string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []string
	for d := range s.devices {
		if d.user == user {
			found = append(found, d.id)
		}
	}
	return found
}
