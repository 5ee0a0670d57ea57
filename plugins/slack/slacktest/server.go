// Package slacktest is a Slack for tests: as much of its Web API and of socket mode as
// a channel uses, with faults on demand. Slack's own library for apps works on it as
// on the real one.
package slacktest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// What a Server knows from the start.
const (
	AppToken = "xapp-1-test"
	BotToken = "xoxb-test"
	Bot      = "UBOT" // the app's user, named bot
	Team     = "T1"
)

// A Server is a workspace with one app.
type Server struct {
	URL string // of the Web API

	http     *httptest.Server
	mu       sync.Mutex
	names    map[string]string
	messages []*Message
	files    map[string]*File
	statuses map[string]string
	faults   []*fault
	count    int
	appToken string
	botToken string
	streams  bool

	sockets []*socket
	open    map[string]*event // what is not acknowledged, by envelope
	last    *event
	pending []*event // what no socket was there for
	refresh string   // why each socket is to be opened again
	acked   int
	connect int
	ended   chan struct{}
	waiting sync.WaitGroup
}

// A Message is one in a channel.
type Message struct {
	Channel, User, Text, Thread, Time string
	Blocks                            json.RawMessage
	Metadata                          json.RawMessage
	Files                             []File
	Edits                             int  // how often it was updated
	Streaming                         bool // not stopped yet
	Streamed                          bool
}

// A File is what was shared.
type File struct {
	ID, Name, MIME string
	Data           []byte
}

// New starts a server, which ends with the test.
func New(t testing.TB) *Server {
	s := &Server{
		names: map[string]string{Bot: "bot"}, files: map[string]*File{}, statuses: map[string]string{},
		open: map[string]*event{}, appToken: AppToken, botToken: BotToken,
		ended: make(chan struct{}),
	}
	s.http = httptest.NewServer(s.handler())
	s.URL = s.http.URL + "/api/"
	t.Cleanup(func() {
		close(s.ended)
		s.Disconnect()
		s.waiting.Wait()
		s.http.Close()
	})
	return s
}

// AddUser names a person.
func (s *Server) AddUser(id, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names[id] = name
}

// Messages are what the app has written in a channel, the oldest first.
func (s *Server) Messages(channel string) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []Message
	for _, m := range s.messages {
		if m.Channel == channel && m.User == Bot {
			found = append(found, *m)
		}
	}
	return found
}

// Status is what the app shows in a thread while it works.
func (s *Server) Status(channel, thread string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.statuses[channel+thread]
}

// OfferStreams has the workspace stream answers in threads.
func (s *Server) OfferStreams() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.streams = true
}

// Revoke ends the app's tokens.
func (s *Server) Revoke() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.botToken, s.appToken = "revoked", "revoked"
}

// now is the next ts; s.mu is held.
func (s *Server) now() string {
	s.count++
	return fmt.Sprintf("%d.%06d", time.Now().Unix(), s.count)
}

// Share stores a file of a person, for Say.
func (s *Server) Share(f File) File {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
	f.ID = fmt.Sprintf("F%d", s.count)
	s.files[f.ID] = &f
	return f
}

// Say writes a message of a person and returns its ts. The app is mentioned as
// <@UBOT>.
func (s *Server) Say(m Message) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	m.Time = s.now()
	s.messages = append(s.messages, &m)
	e := s.event(m)
	if len(m.Files) > 0 {
		e["subtype"] = "file_share"
		var files []map[string]any
		for _, f := range m.Files {
			address := s.http.URL + "/files/" + f.ID
			files = append(files, map[string]any{"id": f.ID, "name": f.Name, "mimetype": f.MIME, "size": len(f.Data), "url_private": address, "url_private_download": address})
		}
		e["files"] = files
	}
	s.emit("events_api", s.eventPayload(e))
	if strings.Contains(m.Text, "<@"+Bot+">") && !strings.HasPrefix(m.Channel, "D") {
		mention := s.event(m)
		mention["type"] = "app_mention"
		delete(mention, "channel_type")
		s.emit("events_api", s.eventPayload(mention))
	}
	return m.Time
}

// Edit changes a message of a person.
func (s *Server) Edit(channel, ts, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.messages {
		if m.Channel != channel || m.Time != ts {
			continue
		}
		before := s.event(*m)
		m.Text = text
		now := s.now()
		s.emit("events_api", s.eventPayload(map[string]any{
			"type": "message", "subtype": "message_changed", "hidden": true, "channel": channel, "channel_type": channelType(channel),
			"ts": now, "event_ts": now, "message": s.event(*m), "previous_message": before,
		}))
	}
}

// Press presses a button of a message by its label.
func (s *Server) Press(channel, ts, user, label string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.messages {
		if m.Channel != channel || m.Time != ts {
			continue
		}
		var blocks []struct {
			Type     string           `json:"type"`
			Elements []map[string]any `json:"elements"`
		}
		_ = json.Unmarshal(m.Blocks, &blocks)
		for _, b := range blocks {
			for _, e := range b.Elements {
				text, _ := e["text"].(map[string]any)
				if text["text"] != label {
					continue
				}
				action := map[string]any{"type": "button", "action_id": e["action_id"], "value": e["value"], "text": text, "action_ts": s.now()}
				s.emit("interactive", map[string]any{
					"type": "block_actions", "user": map[string]any{"id": user, "name": s.names[user]}, "team": map[string]any{"id": Team},
					"channel": map[string]any{"id": channel}, "actions": []any{action}, "api_app_id": "A1", "trigger_id": "1.2",
					"container": map[string]any{"type": "message", "channel_id": channel, "message_ts": ts},
					"message":   map[string]any{"ts": ts, "thread_ts": m.Thread, "text": m.Text, "blocks": m.Blocks, "user": Bot, "type": "message"},
				})
			}
		}
	}
}

func (s *Server) event(m Message) map[string]any {
	e := map[string]any{
		"type": "message", "user": m.User, "text": m.Text, "channel": m.Channel, "channel_type": channelType(m.Channel),
		"ts": m.Time, "event_ts": m.Time, "client_msg_id": "cm-" + m.Time, "team": Team,
	}
	if m.Thread != "" {
		e["thread_ts"] = m.Thread
		for _, root := range s.messages {
			if root.Channel == m.Channel && root.Time == m.Thread {
				e["parent_user_id"] = root.User
			}
		}
	}
	if m.User == Bot {
		e["bot_id"] = "B1"
	}
	return e
}

func (s *Server) eventPayload(e map[string]any) map[string]any {
	s.count++
	return map[string]any{
		"token": "x", "team_id": Team, "api_app_id": "A1", "type": "event_callback", "event": e,
		"event_id": fmt.Sprintf("Ev%d", s.count), "event_time": time.Now().Unix(),
		"authorizations": []any{map[string]any{"team_id": Team, "user_id": Bot, "is_bot": true}},
	}
}

func channelType(channel string) string {
	return cmp.Or(map[byte]string{'D': "im", 'G': "mpim"}[channel[0]], "channel")
}

func answer(w http.ResponseWriter, v map[string]any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_ = json.NewEncoder(w).Encode(v)
}

func refuse(w http.ResponseWriter, word string) {
	answer(w, map[string]any{"ok": false, "error": word})
}

// find is a message of the app; s.mu is held.
func (s *Server) find(form url.Values) *Message {
	for _, m := range s.messages {
		if m.Channel == form.Get("channel") && m.Time == form.Get("ts") && m.User == Bot {
			return m
		}
	}
	return nil
}

// EndStreams ends all streams, as Slack does after some minutes.
func (s *Server) EndStreams() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.messages {
		m.Streaming = false
	}
}
