package slacktest

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/gorilla/websocket"
)

// resendAfter is how long the app may take to acknowledge an event.
const resendAfter = 3 * time.Second

// A socket is a connection of the app. Slack sends each event over one of them.
type socket struct {
	conn *websocket.Conn
	out  chan any
	done chan struct{}
}

// An event is one envelope until the app has acknowledged it.
type event struct {
	id      string
	kind    string
	payload any
	attempt int
}

func (s *Server) openSocket(w http.ResponseWriter) {
	s.mu.Lock()
	s.count++
	ticket := s.count
	s.mu.Unlock()
	answer(w, map[string]any{"ok": true, "url": fmt.Sprintf("%s/socket?ticket=%d", strings.Replace(s.http.URL, "http", "ws", 1), ticket)})
}

func (s *Server) serveSocket(w http.ResponseWriter, r *http.Request) {
	upgrader := websocket.Upgrader{}
	conn, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	sock := &socket{conn: conn, out: make(chan any, 1000), done: make(chan struct{})}
	sock.out <- map[string]any{"type": "hello", "num_connections": 1, "connection_info": map[string]any{"app_id": "A1"}, "debug_info": map[string]any{}}
	s.mu.Lock()
	if s.refresh != "" {
		sock.out <- disconnect(s.refresh)
	}
	s.connect++
	s.sockets = append(s.sockets, sock)
	pending := s.pending
	s.pending = nil
	for _, e := range pending {
		s.send(e)
	}
	s.mu.Unlock()
	s.waiting.Go(func() { s.write(sock) })
	s.readAcks(sock)
	close(sock.done)
	conn.Close()
	s.remove(sock)
}

func (s *Server) write(sock *socket) {
	ping := time.NewTicker(5 * time.Second)
	defer ping.Stop()
	for {
		select {
		case v := <-sock.out:
			_ = sock.conn.WriteJSON(v)
		case <-ping.C:
			_ = sock.conn.WriteControl(websocket.PingMessage, []byte("ping"), time.Now().Add(time.Second))
		case <-sock.done:
			return
		}
	}
}

func (s *Server) readAcks(sock *socket) {
	for {
		var ack struct {
			ID string `json:"envelope_id"`
		}
		if sock.conn.ReadJSON(&ack) != nil {
			return
		}
		s.mu.Lock()
		if s.open[ack.ID] != nil {
			delete(s.open, ack.ID)
			s.acked++
		}
		s.mu.Unlock()
	}
}

func (s *Server) remove(sock *socket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, known := range s.sockets {
		if known == sock {
			s.sockets = append(s.sockets[:i], s.sockets[i+1:]...)
			return
		}
	}
}

// emit sends an event, and again until it is acknowledged; s.mu is held.
func (s *Server) emit(kind string, payload any) {
	s.count++
	e := &event{id: fmt.Sprintf("envelope-%d", s.count), kind: kind, payload: payload}
	s.open[e.id], s.last = e, e
	s.send(e)
}

// send sends an event over the newest socket; s.mu is held.
func (s *Server) send(e *event) {
	if len(s.sockets) == 0 {
		s.pending = append(s.pending, e)
		return
	}
	sock := s.sockets[len(s.sockets)-1]
	v := map[string]any{"envelope_id": e.id, "type": e.kind, "payload": e.payload, "accepts_response_payload": false}
	if e.kind == "events_api" {
		v["retry_attempt"], v["retry_reason"] = e.attempt, ""
	}
	select {
	case sock.out <- v:
	default:
	}
	s.waiting.Go(func() {
		timer := time.NewTimer(resendAfter)
		defer timer.Stop()
		select {
		case <-s.ended:
		case <-sock.done: // its connection broke
			s.again(e)
		case <-timer.C:
			s.again(e)
		}
	})
}

func (s *Server) again(e *event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[e.id] != nil {
		e.attempt++
		s.send(e)
	}
}

// Unacknowledged is how many events the app has not acknowledged.
func (s *Server) Unacknowledged() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open)
}

// Acknowledged is how many events the app has acknowledged.
func (s *Server) Acknowledged() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.acked
}

// Connections is how often the app has connected.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.connect
}

// Connected reports whether the app has a socket.
func (s *Server) Connected() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sockets) > 0
}

// Disconnect breaks all sockets.
func (s *Server) Disconnect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sock := range s.sockets {
		sock.conn.Close()
	}
}

// Refresh asks the app to connect again, for a reason such as refresh_requested.
func (s *Server) Refresh(reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sock := range s.sockets {
		sock.out <- disconnect(reason)
	}
}

// RefreshAll asks the app to connect again whenever it has connected, for a reason such as
// too_many_websockets; empty: no longer.
func (s *Server) RefreshAll(reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refresh = reason
}

func disconnect(reason string) map[string]any {
	return map[string]any{"type": "disconnect", "reason": reason, "debug_info": map[string]any{}}
}

// Repeat sends the last event once more, as Slack does when it has not got the
// acknowledgement.
func (s *Server) Repeat() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last != nil {
		s.last.attempt++
		s.open[s.last.id] = s.last
		s.send(s.last)
	}
}

// Event sends the app any event.
func (s *Server) Event(e map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.emit("events_api", s.eventPayload(e))
}

// Envelope sends the app any envelope.
func (s *Server) Envelope(kind string, payload any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.emit(kind, payload)
}
