// Package memnats is NATS with JetStream, in memory and without a goroutine: whoever drives it
// decides when it takes what a client has sent, when a client gets what it has sent, and what
// gets lost. Clients are those of nats.go, which dial it in place of a socket.
//
// Of JetStream it does what hosts need: streams with ids, fences, rollups and schedules;
// pinned pull consumers as those of nats-server 2.15, with redelivery and resets; push consumers of
// buckets; direct gets.
package memnats

import (
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Server is NATS with JetStream, in memory. Only Dial may be called by others than
// the one who drives it.
type Server struct {
	clients []*Client
	exact   map[string][]*subscription // by subject
	wild    []*subscription
	streams []*stream
	names   map[string]*stream
	pins    int
	ids     int
	began   time.Time
	// Stored hears of each message that is stored.
	Stored func(stream string, m *Message)

	mu     sync.Mutex
	down   bool
	dialed []*conn
	wake   chan struct{}
}

// New makes a server with streams that have these configurations.
func New(streams []StreamConfig) *Server {
	s := &Server{exact: map[string][]*subscription{}, names: map[string]*stream{}, wake: make(chan struct{}, 1), began: time.Now()}
	for _, cfg := range streams {
		s.addStream(cfg)
	}
	return s
}

// Wake has a token when a client may have done something.
func (s *Server) Wake() <-chan struct{} { return s.wake }

var errRefused = errors.New("connection refused")

// Dial connects a client.
func (s *Server) Dial(name string) (net.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down {
		return nil, errRefused
	}
	c := newConn(name, s.wake)
	s.dialed = append(s.dialed, c)
	token(s.wake)
	return c, nil
}

// SetDown has the server refuse connections, or take them again.
func (s *Server) SetDown(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = down
}

// Clients are those that are connected, in the order in which they came.
func (s *Server) Clients() []*Client { return slices.Clone(s.clients) }

// Collect takes in what the clients have done since. No client may be at work.
func (s *Server) Collect() {
	s.mu.Lock()
	dialed := s.dialed
	s.dialed = nil
	s.mu.Unlock()
	slices.SortStableFunc(dialed, func(a, b *conn) int { return strings.Compare(a.name, b.name) })
	for _, conn := range dialed {
		c := &Client{Name: conn.name, server: s, conn: conn, subs: map[string]*subscription{}}
		s.clients = append(s.clients, c)
	}
	for _, c := range slices.Clone(s.clients) {
		var closed bool
		c.buf, closed = c.conn.collect(c.buf)
		c.take()
		if closed && len(c.ops) == 0 {
			s.forget(c)
		}
	}
}

// Cut ends a connection. What the client has sent and is not processed is lost, and so
// is what it was not handed.
func (s *Server) Cut(c *Client) {
	c.conn.sever()
	s.forget(c)
}

func (s *Server) forget(c *Client) {
	if c.gone {
		return
	}
	for _, st := range s.streams {
		// The client waits for the answer under a lock that the first message wants as well: the
		// bubble would not count as waiting, and no time would pass.
		st.consumers = slices.DeleteFunc(st.consumers, func(o *consumer) bool {
			return o.asked != "" && slices.ContainsFunc(c.out, func(lost chunk) bool { return lost.subject == o.asked })
		})
	}
	c.gone, c.ops, c.out = true, nil, nil
	for _, sub := range c.subs {
		s.remove(sub)
	}
	c.subs = nil
	s.clients = slices.DeleteFunc(s.clients, func(other *Client) bool { return other == c })
}

// Restart is the end of the server and its start: what is stored is there, and the state
// of durable consumers; who asked, and who was pinned, is forgotten.
func (s *Server) Restart() {
	for _, c := range slices.Clone(s.clients) {
		s.Cut(c)
	}
	for _, st := range s.streams {
		st.consumers = slices.DeleteFunc(st.consumers, func(o *consumer) bool { return o.cfg.Durable == "" })
		for _, o := range st.consumers {
			o.waiting, o.pin, o.redeliver = nil, "", nil
		}
	}
}

// An Outcome is how much of an operation is done.
type Outcome int

// Outcomes.
const (
	Whole      Outcome = iota
	Unanswered         // it is done, and the answer gets lost
	Dropped            // it gets lost
	Refused            // it is answered with an error, as by a cluster without a leader
)

// control does what is no message: nothing that happens elsewhere makes a difference to it.
func (s *Server) control(c *Client, op Op) {
	switch op.verb {
	case "PING":
		c.raw("PONG\r\n")
	case "SUB":
		sub := &subscription{client: c, subject: op.args[0], sid: op.args[len(op.args)-1]}
		c.subs[sub.sid] = sub
		s.add(sub)
	case "UNSUB":
		if sub := c.subs[op.args[0]]; sub != nil {
			if len(op.args) == 2 {
				sub.left = atoi(op.args[1])
			} else {
				s.unsubscribe(sub)
			}
		}
	}
}

// Process does the next thing that the client has sent.
func (s *Server) Process(c *Client, how Outcome) {
	op := c.ops[0]
	c.ops = c.ops[1:]
	switch how {
	case Dropped:
	case Unanswered:
		s.publish(op.Subject, "", op.Header, op.Data)
	case Refused:
		s.send(op.Reply, "", nil, []byte(`{"error":{"code":503,"err_code":10008,"description":"JetStream system temporarily unavailable"}}`))
	case Whole:
		s.publish(op.Subject, op.Reply, op.Header, op.Data)
	}
}

func (s *Server) add(sub *subscription) {
	if strings.ContainsAny(sub.subject, "*>") {
		s.wild = append(s.wild, sub)
	} else {
		s.exact[sub.subject] = append(s.exact[sub.subject], sub)
	}
}

func (s *Server) unsubscribe(sub *subscription) {
	delete(sub.client.subs, sub.sid)
	s.remove(sub)
}

func (s *Server) remove(sub *subscription) {
	same := func(other *subscription) bool { return other == sub }
	if strings.ContainsAny(sub.subject, "*>") {
		s.wild = slices.DeleteFunc(s.wild, same)
	} else if left := slices.DeleteFunc(s.exact[sub.subject], same); len(left) == 0 {
		delete(s.exact, sub.subject)
	} else {
		s.exact[sub.subject] = left
	}
}

// send hands a message to all who are subscribed; some reports whether anybody is.
func (s *Server) send(subject, reply string, header, data []byte) (some bool) {
	if subject == "" {
		return false
	}
	return s.sendAs(subject, subject, reply, header, data)
}

// sendAs is send on a subject of a message that names another.
func (s *Server) sendAs(to, subject, reply string, header, data []byte) (some bool) {
	for _, sub := range slices.Clone(s.exact[to]) {
		sub.client.send(sub, subject, reply, header, data)
		some = true
	}
	for _, sub := range slices.Clone(s.wild) {
		if matches(sub.subject, to) {
			sub.client.send(sub, subject, reply, header, data)
			some = true
		}
	}
	return some
}

// listens reports whether anybody is subscribed to a subject.
func (s *Server) listens(subject string) bool {
	return len(s.exact[subject]) > 0 || slices.ContainsFunc(s.wild, func(sub *subscription) bool { return matches(sub.subject, subject) })
}

// publish takes a message.
func (s *Server) publish(subject, reply string, header, data []byte) {
	switch {
	case strings.HasPrefix(subject, apiPrefix):
		s.api(strings.TrimPrefix(subject, apiPrefix), reply, data)
		return
	case strings.HasPrefix(subject, "$JS.ACK."):
		s.ack(strings.Split(subject, "."), data)
		s.send(reply, "", nil, nil)
		return
	}
	some := s.send(subject, reply, header, data)
	for _, st := range s.streams {
		if st.takes(subject) {
			st.publish(subject, reply, header, data)
			some = true
		}
	}
	if !some {
		s.send(reply, "", status(503, "No Responders"), nil)
	}
}

// Publish stores a message of somebody without a connection; it returns its sequence.
func (s *Server) Publish(subject, id string, data []byte) (seq uint64) {
	var h []byte
	if id != "" {
		h = withHeaders(nil, msgIDHeader, id)
	}
	for _, st := range s.streams {
		if st.takes(subject) {
			seq, _ = st.store(subject, h, data)
		}
	}
	return seq
}
