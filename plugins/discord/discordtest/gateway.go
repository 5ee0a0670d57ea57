package discordtest

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// gateway is what is behind the websocket.
type gateway struct {
	sessions map[string]*session
	count    int
	refuse   int  // close code for the next login
	spent    bool // no login is left
	silent   bool // heartbeats are not answered
	held     bool // connections are refused
	moving   bool // each connection is asked for another
	interval time.Duration
}

func (g *gateway) remaining() int {
	if g.spent {
		return 0
	}
	return 999
}

// A session has all events since it began.
type session struct {
	id     string
	events []json.RawMessage // number n is at n-1
	conn   *conn             // nil: not connected
}

type conn struct {
	mu sync.Mutex
	ws *websocket.Conn
}

func (c *conn) write(op int, data any) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ws.WriteJSON(map[string]any{"op": op, "d": data, "s": nil, "t": nil})
}

func (c *conn) send(event []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.ws.WriteMessage(websocket.TextMessage, event)
}

func (c *conn) close(code int) {
	_ = c.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, ""), time.Now().Add(time.Second))
	_ = c.ws.Close()
}

type frame struct {
	Op   int             `json:"op"`
	Data json.RawMessage `json:"d"`
}

type login struct {
	Token     string `json:"token"`
	Intents   int    `json:"intents"`
	SessionID string `json:"session_id"`
	Seq       int    `json:"seq"`
}

func (s *Server) serveGateway(w http.ResponseWriter, r *http.Request) {
	ws, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer ws.Close()
	s.mu.Lock()
	every, held, moving := s.gateway.interval, s.gateway.held, s.gateway.moving
	s.mu.Unlock()
	if held {
		return
	}
	if every == 0 {
		every = 40 * time.Second
	}
	c := &conn{ws: ws}
	if c.write(10, map[string]any{"heartbeat_interval": every.Milliseconds()}) != nil {
		return
	}
	if moving {
		_ = c.write(7, nil)
	}
	var in *session
	for {
		var f frame
		if err := ws.ReadJSON(&f); err != nil {
			s.leave(in, c)
			return
		}
		switch f.Op {
		case 1:
			s.mu.Lock()
			silent := s.gateway.silent
			s.calls = append(s.calls, Call{Name: "heartbeat", Path: string(f.Data)})
			s.touch()
			s.mu.Unlock()
			if !silent {
				_ = c.write(11, nil)
			}
		case 2, 6:
			var l login
			_ = json.Unmarshal(f.Data, &l)
			in = s.enter(c, f.Op, l)
		}
	}
}

// enter begins or resumes a session. nil: it is refused.
func (s *Server) enter(c *conn, op int, l login) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.touch()
	name := "identify"
	if op == 6 {
		name = "resume"
	}
	s.calls = append(s.calls, Call{Name: name, Body: map[string]any{"intents": l.Intents, "seq": l.Seq, "session": l.SessionID}})
	code := s.gateway.refuse
	s.gateway.refuse = 0
	if strings.TrimPrefix(l.Token, "Bot ") != Token {
		code = 4004
	}
	if code != 0 {
		c.close(code)
		return nil
	}
	if op == 6 {
		return s.resume(c, l)
	}
	s.gateway.count++
	in := &session{id: "session" + strconv.Itoa(s.gateway.count), conn: c}
	s.gateway.sessions[in.id] = in
	s.tell(in, "READY", map[string]any{
		"v": 10, "user": person(BotID, ""), "guilds": []any{map[string]any{"id": GuildID, "unavailable": true}}, "session_id": in.id,
		"resume_gateway_url": "ws" + strings.TrimPrefix(s.URL, "http") + "/ws", "application": map[string]any{"id": BotID, "flags": 0},
	})
	s.tell(in, "GUILD_CREATE", s.guild())
	return in
}

func (s *Server) resume(c *conn, l login) *session {
	in := s.gateway.sessions[l.SessionID]
	if in == nil || l.Seq > len(in.events) {
		_ = c.write(9, false)
		return nil
	}
	in.conn = c
	for _, event := range in.events[l.Seq:] {
		c.send(event)
	}
	s.tell(in, "RESUMED", map[string]any{})
	return in
}

// leave ends a connection; the session stays.
func (s *Server) leave(in *session, c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if in != nil && in.conn == c {
		in.conn = nil
	}
	s.touch()
}

// guild is the server. Called with the lock held.
func (s *Server) guild() map[string]any {
	channels, threads := []any{}, []any{}
	for _, id := range slices.Sorted(maps.Keys(s.rooms)) {
		switch r := s.rooms[id]; r.kind {
		case text:
			channels = append(channels, r.json())
		case thread:
			threads = append(threads, r.json())
		}
	}
	return map[string]any{
		"id": GuildID, "name": "House", "channels": channels, "threads": threads, "members": []any{}, "presences": []any{}, "voice_states": []any{},
		"emojis": []any{}, "stickers": []any{}, "features": []any{}, "stage_instances": []any{}, "guild_scheduled_events": []any{}, "soundboard_sounds": []any{},
		"member_count": 2, "owner_id": "1", "large": false, "unavailable": false, "joined_at": stamp(time.Now()), "preferred_locale": "en-US",
		"roles": []any{map[string]any{
			"id": RoleID, "name": BotName, "permissions": "0", "position": 1, "color": 0, "colors": map[string]any{"primary_color": 0},
			"hoist": false, "managed": true, "mentionable": false, "flags": 0, "tags": map[string]any{"bot_id": BotID},
		}},
	}
}

// emit sends an event to all sessions; who is not connected gets it on RESUME.
// Called with the lock held.
func (s *Server) emit(kind string, data any) {
	for _, in := range s.gateway.sessions {
		s.tell(in, kind, data)
	}
	s.touch()
}

// Event sends any event, such as one of an unknown shape.
func (s *Server) Event(kind string, data any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.emit(kind, data)
}

func (s *Server) tell(in *session, kind string, data any) {
	seq := len(in.events) + 1
	encoded, err := json.Marshal(map[string]any{"op": 0, "t": kind, "s": seq, "d": data})
	if err != nil {
		return
	}
	in.events = append(in.events, encoded)
	if in.conn != nil {
		in.conn.send(encoded)
	}
}

// each calls fn with every connection.
func (s *Server) each(fn func(*conn)) {
	s.mu.Lock()
	var all []*conn
	for _, in := range s.gateway.sessions {
		if in.conn != nil {
			all = append(all, in.conn)
		}
	}
	s.mu.Unlock()
	for _, c := range all {
		fn(c)
	}
}

// Disconnect ends all connections with a close code.
func (s *Server) Disconnect(code int) { s.each(func(c *conn) { c.close(code) }) }

// AskToReconnect sends what Discord sends before it restarts one of its machines.
func (s *Server) AskToReconnect() { s.each(func(c *conn) { _ = c.write(7, nil) }) }

// AskAlways has each new connection asked for another, or no longer.
func (s *Server) AskAlways(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gateway.moving = on
}

// Forget drops all sessions: none can be resumed.
func (s *Server) Forget() {
	s.Disconnect(4000)
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.gateway.sessions)
}

// Hold refuses connections until Release.
func (s *Server) Hold() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gateway.held = true
}

// Release takes connections again.
func (s *Server) Release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gateway.held = false
}

// RefuseLogin ends the next login with a close code.
func (s *Server) RefuseLogin(code int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gateway.refuse = code
}

// NoLogins has the day's logins be spent.
func (s *Server) NoLogins() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gateway.spent = true
}

// Heartbeats sets how often the next connection has to send one, and whether they are
// answered.
func (s *Server) Heartbeats(every time.Duration, answered bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gateway.interval, s.gateway.silent = every, !answered
}
