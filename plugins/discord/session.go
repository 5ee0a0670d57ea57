package discord

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"agenthost/plugins"
)

// sessionNote is where the session stands for the next owner.
const sessionNote = "gateway"

// A session is what the gateway keeps for a bot between two connections, and how far
// it was read.
type session struct {
	mu  sync.Mutex
	ID  string `json:"id"`
	URL string `json:"url"`
	Seq int64  `json:"seq"`
	// Last is the last message that was taken, of any room.
	Last string `json:"last"`
	// Missed is the last message before a session was lost, and Until is when what came
	// after it has been read.
	Missed string    `json:"missed,omitempty"`
	Until  time.Time `json:"until,omitzero"`
	// Private are the private rooms in which there was something last, newest first.
	Private []string `json:"private,omitempty"`
}

// maxPrivate is how many private rooms are looked at when a session is lost.
const maxPrivate = 50

// catchUpFor is how long after a login servers are looked through for what was missed.
const catchUpFor = 10 * time.Minute

func loadSession(ctx context.Context, in *plugins.Inbox) (*session, error) {
	data, err := in.Note(ctx, sessionNote)
	if err != nil {
		return nil, fmt.Errorf("read the session of the gateway: %w", err)
	}
	s, _ := decode[*session](data) // without a valid one a new session begins
	if s == nil {
		s = &session{}
	}
	return s, nil
}

// save keeps the session for the next owner.
func (s *session) save(ctx context.Context, in *plugins.Inbox) error {
	s.mu.Lock()
	data, err := json.Marshal(s)
	s.mu.Unlock()
	if err != nil {
		return err
	}
	return in.SetNote(ctx, sessionNote, data)
}

func (s *session) resumable() (id string, seq int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ID, s.Seq
}

// begin begins a new session.
func (s *session) begin(id, url string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ID, s.URL = id, url
	s.Missed, s.Until = s.Last, time.Now().Add(catchUpFor)
}

// missed is the message after which others may have been missed; empty: none were.
func (s *session) missed() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Now().After(s.Until) {
		return ""
	}
	return s.Missed
}

// drop ends the session; how far messages were read stays known.
func (s *session) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ID, s.URL, s.Seq = "", "", 0
}

func (s *session) forgetAddress() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.URL = ""
}

// read notes that an event is done; the message is empty where the event is not a message.
func (s *session) read(seq int64, message string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Seq = max(s.Seq, seq)
	if later(message, s.Last) {
		s.Last = message
	}
}

// remember puts a private room before all others.
func (s *session) remember(room string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rooms := slices.DeleteFunc(s.Private, func(r string) bool { return r == room })
	s.Private = slices.Insert(rooms[:min(len(rooms), maxPrivate-1)], 0, room)
}

func (s *session) private() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.Private)
}

// later reports whether an id was given after another: they count up over all rooms.
func later(a, b string) bool { return len(a) > len(b) || len(a) == len(b) && a > b }
