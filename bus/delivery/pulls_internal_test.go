package delivery

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A consumer of the test answers requests as it is told to.
type fakeConsumer struct {
	t        *testing.T
	nc       *nats.Conn
	requests chan *nats.Msg
	handled  chan string
	troubles chan error
}

// pullsOf asks a consumer of the test.
func pullsOf(t *testing.T) (*pulls, *fakeConsumer) {
	t.Helper()
	ns, err := server.NewServer(&server.Options{DontListen: true, NoSigs: true, NoLog: true})
	if err != nil {
		t.Fatal(err)
	}
	ns.Start()
	t.Cleanup(func() { ns.Shutdown(); ns.WaitForShutdown() })
	nc, err := nats.Connect("", nats.InProcessServer(ns))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	c := &fakeConsumer{t, nc, make(chan *nats.Msg, 100), make(chan string, 1000), make(chan error, 100)}
	if _, err := nc.ChanSubscribe("next", c.requests); err != nil {
		t.Fatal(err)
	}
	p := newPulls(nc, "next")
	if err := p.start(func(m *nats.Msg) { c.handled <- string(m.Data) }, func(err error) { c.troubles <- err }); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.stop(); <-p.closed })
	return p, c
}

// wants waits for a request, and returns where its answers go.
func (c *fakeConsumer) wants(batch int, pin string) string {
	c.t.Helper()
	select {
	case m := <-c.requests:
		r := request{}
		if err := json.Unmarshal(m.Data, &r); err != nil {
			c.t.Fatal(err)
		}
		if want := (request{batch, pullExpiry, pullExpiry / 2, laneGroup, pin}); r != want {
			c.t.Errorf("asked for %+v, want %+v", r, want)
		}
		return m.Reply
	case <-time.After(time.Minute):
		c.t.Fatalf("nothing is asked for, want %d messages", batch)
		return ""
	}
}

// wantsNothing checks that nothing more is asked for by now.
func (c *fakeConsumer) wantsNothing() {
	c.t.Helper()
	c.settle()
	if len(c.requests) > 0 {
		c.t.Errorf("asked for %s, want nothing", (<-c.requests).Data)
	}
}

func (c *fakeConsumer) settle() {
	c.t.Helper()
	time.Sleep(time.Millisecond)
	synctest.Wait()
}

// says sends a status, with how much of the request is left.
func (c *fakeConsumer) says(to string, status string, left int) {
	c.t.Helper()
	m := nats.NewMsg(to)
	m.Header.Set("Status", status[:3])
	m.Header.Set("Description", status[3:])
	m.Header.Set(pendingHeader, fmt.Sprint(left))
	if err := c.nc.PublishMsg(m); err != nil {
		c.t.Fatal(err)
	}
	c.settle()
}

// meets checks what the pulls have told last.
func (c *fakeConsumer) meets(want error) {
	c.t.Helper()
	c.settle()
	select {
	case err := <-c.troubles:
		if !errors.Is(err, want) {
			c.t.Errorf("got %v, want %v", err, want)
		}
	default:
		c.t.Errorf("no error, want %v", want)
	}
}

func TestPulls(t *testing.T) {
	tests := map[string]func(p *pulls, c *fakeConsumer, to string){
		"a request that is over is followed by another for what it did not bring": func(_ *pulls, c *fakeConsumer, to string) {
			c.says(to, "408 Request Timeout", 100)
			c.wantsNothing() // more than half is to come
			c.says(to, "408 Request Timeout", 56)
			c.wants(156, "")
		},
		"a wrong number is nothing": func(_ *pulls, c *fakeConsumer, to string) {
			c.says(to, "408 Request Timeout", -300)
			c.wantsNothing()
			c.says(to, "409 Batch Completed", 300)
			c.wants(256, "")
		},
		"heartbeats keep a request": func(_ *pulls, c *fakeConsumer, to string) {
			for range 10 {
				time.Sleep(pullExpiry / 2)
				c.says(to, "100 Idle Heartbeat", 0)
			}
			c.wantsNothing()
		},
		"silence has it sent again": func(_ *pulls, c *fakeConsumer, to string) {
			time.Sleep(pullExpiry)
			c.meets(jetstream.ErrNoHeartbeat)
			c.wants(256, "")
			c.says(to, "408 Request Timeout", 256) // of the first
			c.wantsNothing()
		},
		"a pin that has passed is not named again": func(p *pulls, c *fakeConsumer, to string) {
			p.know("ours")
			c.says(to, "408 Request Timeout", 256)
			c.wants(256, "ours")
			c.says(to, "423 Nats-Wrong-Pin-Id", 256)
			c.meets(jetstream.ErrPinIDMismatch)
			c.wants(256, "")
			c.says(to, "423 Nats-Wrong-Pin-Id", 256) // for another request with it
			c.wantsNothing()
		},
		"another leader is asked": func(_ *pulls, c *fakeConsumer, to string) {
			c.says(to, "409 Leadership Change", 0)
			c.meets(jetstream.ErrConsumerLeadershipChanged)
			c.wants(256, "")
		},
		"a consumer that is gone is not": func(p *pulls, c *fakeConsumer, to string) {
			c.says(to, "409 Consumer Deleted", 0)
			c.meets(jetstream.ErrConsumerDeleted)
			<-p.closed
			time.Sleep(2 * pullExpiry)
			c.wantsNothing()
		},
		"what the server does not understand ends it": func(p *pulls, c *fakeConsumer, to string) {
			c.says(to, "400 Bad Request", 0)
			c.meets(jetstream.ErrBadRequest)
			<-p.closed
		},
		"that no server answers is told": func(_ *pulls, c *fakeConsumer, to string) {
			c.says(to, "503", 0)
			c.meets(nats.ErrNoResponders)
		},
		"they start again with the pin": func(p *pulls, c *fakeConsumer, _ string) {
			p.know("ours")
			p.drain()
			<-p.closed
			if err := p.start(p.handle, p.trouble); err != nil {
				c.t.Fatal(err)
			}
			c.wants(256, "ours")
		},
		"they end with the connection": func(p *pulls, c *fakeConsumer, _ string) {
			c.nc.Close()
			<-p.closed
		},
	}
	for what, test := range tests {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, c := pullsOf(t)
				test(p, c, c.wants(256, ""))
			})
		})
	}
}
