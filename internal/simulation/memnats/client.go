package memnats

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
)

// A Client is a connection as the server sees it.
type Client struct {
	Name string

	server *Server
	conn   *conn
	buf    []byte // collected, not parsed
	ops    []Op   // parsed, not processed
	out    []chunk
	subs   map[string]*subscription // by sid
	gone   bool
}

// A subscription is one of a client.
type subscription struct {
	client  *Client
	sid     string
	subject string
	left    int // messages until it ends; 0: no limit
}

// An Op is something that a client has sent.
type Op struct {
	verb           string // CONNECT, PING, PONG, SUB, UNSUB, PUB
	args           []string
	Subject, Reply string // of a PUB
	Header, Data   []byte
}

// A chunk is something for the client to read.
type chunk struct {
	data    []byte
	subject string
	pinned  bool // it is a message of a lane
}

// Ops is how many messages of the client the server has not processed.
func (c *Client) Ops() int { return len(c.ops) }

// Peek is the next of them.
func (c *Client) Peek() *Op { return &c.ops[0] }

// Waiting is how many messages the client has not been handed.
func (c *Client) Waiting() int { return len(c.out) }

// Pinned reports whether the next of them is that of a lane.
func (c *Client) Pinned() bool { return c.out[0].pinned }

// Next is the subject of the next of them.
func (c *Client) Next() string { return c.out[0].subject }

// Deliver hands the client the next message.
func (c *Client) Deliver() {
	c.conn.hand(c.out[0].data)
	c.out = c.out[1:]
}

// Lose drops the next message for the client.
func (c *Client) Lose() { c.out = c.out[1:] }

// Gone reports whether the connection is over.
func (c *Client) Gone() bool { return c.gone }

// Drop forgets what the client has sent and the server has not processed.
func (c *Client) Drop() { c.ops, c.buf = nil, nil }

// Name is what is known of a message without what chance has made of it.
func (op *Op) Name() string {
	t := strings.Split(op.Subject, ".")
	switch {
	case t[0] == "_INBOX":
		return "an answer"
	case t[0] == "$JS" && t[1] == "ACK" && len(t) > 7: // without the time
		return strings.Join(t[2:7], " ") + " " + string(op.Data)
	case strings.HasPrefix(op.Subject, apiPrefix+"CONSUMER.CREATE."), strings.HasPrefix(op.Subject, apiPrefix+"CONSUMER.DELETE."): // the client draws names
		return strings.Join(t[2:5], " ")
	}
	return op.Subject
}

// take parses what has come. What several goroutines have sent at once is put in an order
// of its own: theirs is chance. Whatever is no message is done before.
func (c *Client) take() {
	before := len(c.ops)
	c.parse()
	fresh := c.ops[before:]
	slices.SortStableFunc(fresh, func(a, b Op) int {
		if a.verb != "PUB" || b.verb != "PUB" {
			return rank(a) - rank(b)
		}
		return strings.Compare(a.Name(), b.Name())
	})
	c.ops = c.ops[:before]
	for i, op := range fresh {
		if op.verb == "PUB" {
			c.ops = append(c.ops, fresh[i:]...)
			return
		}
		c.server.control(c, op)
	}
}

func rank(op Op) int {
	if op.verb == "PUB" {
		return 1
	}
	return 0
}

// parse makes operations of what has come whole.
func (c *Client) parse() {
	for {
		end := bytes.Index(c.buf, []byte("\r\n"))
		if end < 0 {
			return
		}
		line, rest := string(c.buf[:end]), c.buf[end+2:]
		verb, args, _ := strings.Cut(line, " ")
		op := Op{verb: verb}
		switch verb {
		case "PUB", "HPUB":
			op.args = strings.Fields(args)
			head, size := 0, atoi(op.args[len(op.args)-1])
			numbers := 1
			if verb == "HPUB" {
				head, numbers = atoi(op.args[len(op.args)-2]), 2
			}
			if len(rest) < size+2 {
				return
			}
			op.verb, op.Subject = "PUB", op.args[0]
			if len(op.args) > numbers+1 {
				op.Reply = op.args[1]
			}
			op.Header, op.Data = bytes.Clone(rest[:head]), bytes.Clone(rest[head:size])
			rest = rest[size+2:]
		case "CONNECT":
		default:
			op.args = strings.Fields(args)
		}
		c.ops = append(c.ops, op)
		c.buf = rest
	}
}

func atoi(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

// send puts a message for the client into its queue.
func (c *Client) send(sub *subscription, subject, reply string, header, data []byte) {
	b := make([]byte, 0, len(subject)+len(reply)+len(header)+len(data)+48)
	verb := "MSG "
	if len(header) > 0 {
		verb = "HMSG "
	}
	b = append(append(append(b, verb...), subject...), ' ')
	b = append(append(b, sub.sid...), ' ')
	if reply != "" {
		b = append(append(b, reply...), ' ')
	}
	if len(header) > 0 {
		b = append(strconv.AppendInt(b, int64(len(header)), 10), ' ')
	}
	b = append(strconv.AppendInt(b, int64(len(header)+len(data)), 10), "\r\n"...)
	b = append(append(append(b, header...), data...), "\r\n"...)
	c.out = append(c.out, chunk{data: b, subject: subject, pinned: bytes.Contains(header, []byte(pinHeader))})
	if sub.left > 0 {
		if sub.left--; sub.left == 0 {
			c.server.unsubscribe(sub)
		}
	}
}

func (c *Client) raw(text string) { c.out = append(c.out, chunk{data: []byte(text)}) }
