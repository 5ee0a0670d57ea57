//go:build long

package delivery_test

import (
	"bufio"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"agenthost/bus/bustest"
	"agenthost/bus/delivery"
	"agenthost/internal/waittest"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
)

// forged are headers that a stranger may write, none of which is to be taken for the server's.
var forged = map[string]string{
	"a pin":                        "NATS/1.0\r\nNats-Pin-Id: x\r\n\r\n",
	"an empty pin":                 "NATS/1.0\r\nNats-Pin-Id: \r\n\r\n",
	"pins":                         "NATS/1.0\r\nNats-Pin-Id: x\r\nNats-Pin-Id: y\r\n\r\n",
	"pins in other letters":        "NATS/1.0\r\nnats-pin-id: x\r\nNATS-PIN-ID: y\r\n\r\n",
	"a pin, and an early end":      "NATS/1.0\r\nNats-Pin-Id: x\r\n\r\nA: b\r\n\r\n",
	"an early end":                 "NATS/1.0\r\n\r\nA: b\r\n\r\n",
	"no name":                      "NATS/1.0\r\nno colon\r\n\r\n",
	"another protocol":             "HTTP/1.1\r\nA: b\r\n\r\n",
	"an end that is cut":           "NATS/1.0\r\nA: bc",
	"a heartbeat":                  "NATS/1.0 100 Idle Heartbeat\r\n\r\n",
	"the end of a request":         "NATS/1.0 408 Request Timeout\r\nNats-Pending-Messages: 99999\r\nNats-Pending-Bytes: 0\r\n\r\n",
	"the end of less than nothing": "NATS/1.0 408 Request Timeout\r\nNats-Pending-Messages: -99999\r\n\r\n",
	"the end of a wrong number":    "NATS/1.0 408 Request Timeout\r\nNats-Pending-Messages: x\r\n\r\n",
	"no messages":                  "NATS/1.0 404 No Messages\r\n\r\n",
	"a bad request":                "NATS/1.0 400 Bad Request\r\n\r\n",
	"the end of the consumer":      "NATS/1.0 409 Consumer Deleted\r\n\r\n",
	"another leader":               "NATS/1.0 409 Leadership Change\r\n\r\n",
	"another pin":                  "NATS/1.0 423 Nats-Wrong-Pin-Id\r\n\r\n",
	"no responders":                "NATS/1.0 503\r\n\r\n",
	"a status in a header":         "NATS/1.0\r\nStatus: 409\r\nDescription: Consumer Deleted\r\n\r\n",
}

// A stranger is a client that writes what no library does.
type stranger struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
}

func newStranger(t *testing.T, ns *server.Server) *stranger {
	t.Helper()
	conn, err := ns.InProcessConn()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	s := &stranger{t, conn, bufio.NewReader(conn)}
	if _, err := s.in.ReadString('\n'); err != nil { // what the server says of itself
		t.Fatal(err)
	}
	s.write("CONNECT {\"headers\":true,\"verbose\":false}\r\n")
	s.flush()
	return s
}

func (s *stranger) write(text string) {
	s.t.Helper()
	if _, err := s.conn.Write([]byte(text)); err != nil {
		s.t.Fatal(err)
	}
}

// publish sends a message, which may be empty, as it is.
func (s *stranger) publish(header, data string) {
	s.t.Helper()
	s.write(fmt.Sprintf("HPUB %s %d %d\r\n%s%s\r\n", web, len(header), len(header)+len(data), header, data))
}

// flush waits until the server has what was sent.
func (s *stranger) flush() {
	s.t.Helper()
	s.write("PING\r\n")
	for {
		line, err := s.in.ReadString('\n')
		if err != nil {
			s.t.Fatal(err)
		}
		if strings.HasPrefix(line, "PONG") {
			return
		}
	}
}

// undisturbed checks that a host has n messages done since the consumer was as in before, without a
// reset, a second delivery or a takeover, and the other host none.
func undisturbed(t *testing.T, js jetstream.JetStream, h, other *host, before *jetstream.ConsumerInfo, n int) {
	t.Helper()
	waittest.Until(t, "all is acknowledged", func() bool { return consumer(t, js).NumAckPending == 0 })
	info := consumer(t, js)
	if got := info.Delivered.Consumer - before.Delivered.Consumer; got != uint64(n) || info.NumRedelivered != 0 {
		t.Errorf("%d deliveries, of which %d are of what was delivered before, want %d, 0", got, info.NumRedelivered, n)
	}
	h.quiet(aWhile)
	other.quiet(0)
	if !h.Serving() || len(h.gained) != 1 || other.Serving() {
		t.Errorf("serving %t, gained %d times, the other serves %t, want true, once, false", h.Serving(), len(h.gained), other.Serving())
	}
}

func TestLaneOfForgedHeaders(t *testing.T) {
	for what, header := range forged {
		t.Run(what, func(t *testing.T) {
			bustest.Bubble(t, func(t *testing.T) {
				ns := fleet(t)
				_, js := connect(t, ns)
				one := join(t, ns, "one")
				bustest.Publish(t, js, web, "first")
				one.want("first")[0].Done()
				two := join(t, ns, "two")
				s := newStranger(t, ns)
				before, began := consumer(t, js), time.Now()
				for i := range 10 {
					s.publish(header, "")
					s.publish(header, fmt.Sprint(i))
					s.flush()
					bustest.Publish(t, js, web, fmt.Sprint("a bystander ", i))
					each(one.want("", fmt.Sprint(i), fmt.Sprint("a bystander ", i)), (*delivery.Delivery).Done)
				}
				if took := time.Since(began); took > time.Second {
					t.Errorf("30 messages took %s", took)
				}
				undisturbed(t, js, one, two, before, 30)
			})
		})
	}
}

// A hundred such messages at once hold nothing up, neither while a host serves the lane nor when it
// finds them: what it reads before it knows its pin may come again.
func TestLaneOfAFloodOfForgedHeaders(t *testing.T) {
	for what, header := range forged {
		t.Run(what, func(t *testing.T) {
			bustest.Bubble(t, func(t *testing.T) {
				ns := fleet(t)
				_, js := connect(t, ns)
				s := newStranger(t, ns)
				flood := func(then string) {
					for range 100 {
						s.publish(header, "")
					}
					s.flush()
					bustest.Publish(t, js, web, then)
				}
				flood("before")
				began := time.Now()
				one := join(t, ns, "one")
				got := one.take(101)
				if last := string(got[100].Data()); last != "before" {
					t.Errorf("the last is %q", last)
				}
				each(got, (*delivery.Delivery).Done)
				two := join(t, ns, "two")
				before := consumer(t, js)
				for _, then := range []string{"after", "once more"} {
					flood(then)
					each(one.want(append(slices.Repeat([]string{""}, 100), then)...), (*delivery.Delivery).Done)
				}
				if took := time.Since(began); took > time.Second {
					t.Errorf("303 messages took %s", took)
				}
				undisturbed(t, js, one, two, before, 202)
			})
		})
	}
}

// What a host that died has left comes to the next before anything newer, whatever is in its headers.
func TestLaneTakeoverOfForgedHeaders(t *testing.T) {
	for what, header := range forged {
		t.Run(what, func(t *testing.T) {
			bustest.Bubble(t, func(t *testing.T) {
				ns := fleet(t)
				_, js := connect(t, ns)
				s := newStranger(t, ns)
				one := join(t, ns, "one")
				bustest.Publish(t, js, web, "first")
				one.want("first")[0].Done()
				for i := range 5 {
					s.publish(header, fmt.Sprint(i))
				}
				one.want("0", "1", "2", "3", "4")[0].Done()
				one.flush()
				two := join(t, ns, "two")
				one.die()
				for i := range 5 {
					s.publish(header, fmt.Sprint(i+5))
				}
				each(two.want("1?", "2?", "3?", "4?"), (*delivery.Delivery).Done)
				for i, d := range two.take(5) {
					if got := string(d.Data()); got != fmt.Sprint(i+5) {
						t.Errorf("got %s, want %d", got, i+5)
					}
					d.Done()
				}
				two.quiet(aWhile)
				if info := consumer(t, js); info.NumAckPending != 0 || !two.Serving() || len(two.gained) != 1 {
					t.Errorf("unacknowledged %d, serving %t, gained %d times, want 0, true, once", info.NumAckPending, two.Serving(), len(two.gained))
				}
			})
		})
	}
}
