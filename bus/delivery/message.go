package delivery

import "github.com/nats-io/nats.go"

// A message is one that a lane was sent. It is answered also when its subscription has ended.
type message struct {
	*nats.Msg
	nc *nats.Conn
}

var inProgress = []byte("+WPI")

// ack says that it is done.
func (m message) ack() error { return m.nc.Publish(m.Reply, []byte("+ACK")) }

// inProgress says that it is held.
func (m message) inProgress() error { return m.nc.Publish(m.Reply, inProgress) }

// pin is the one that the server has written, behind the headers of the sender. A sender may
// write the same, or headers that end before it: see [Lane.pinOf].
func (m message) pin() string {
	values := m.Header[pinHeader]
	if len(values) == 0 {
		return ""
	}
	return values[len(values)-1]
}
