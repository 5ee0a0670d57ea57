package delivery

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	pinHeader     = "Nats-Pin-Id"
	pendingHeader = "Nats-Pending-Messages"
)

// pulls asks a pinned consumer for messages, again and again.
//
// The client's Consume must not do that for messages with headers of a stranger. It takes the
// first value of pinHeader for the server's, which writes its own last. And it takes a message
// without data for the server's word on a request when its sender has written a Status.
//
// Each request names an inbox of its round. A status is what comes on that inbox; a message comes
// on the subject on which it was stored, whatever its headers say.
type pulls struct {
	nc      *nats.Conn
	subject string // of requests

	handle  func(*nats.Msg) // takes each message, one at a time
	trouble func(error)     // takes what the server says beyond messages
	silent  *time.Timer     // runs while something is to come: at least heartbeats
	inbox   string
	sub     *nats.Subscription
	ended   chan struct{} // closed when the last message was handled
	closed  chan struct{} // closed when p is at rest after that

	mu    sync.Mutex
	pin   string // that requests name; empty: they ask for it
	round int    // what comes of the requests of one before does not count
	owed  int    // messages that those of this one are to bring
	over  bool   // nothing more is asked for
}

// A request is one for messages.
type request struct {
	Batch     int           `json:"batch"`
	Expires   time.Duration `json:"expires"`
	Heartbeat time.Duration `json:"idle_heartbeat"`
	Group     string        `json:"group"`
	Pin       string        `json:"id,omitempty"`
}

func newPulls(nc *nats.Conn, subject string) *pulls { return &pulls{nc: nc, subject: subject} }

// start begins to ask, until stop, drain, the end of the connection or of the consumer. It may
// be called again after that: the pin stays known.
func (p *pulls) start(handle func(*nats.Msg), trouble func(error)) (err error) {
	p.handle, p.trouble = handle, trouble
	p.silent = time.NewTimer(pullExpiry)
	p.inbox = p.nc.NewInbox() + "."
	p.ended, p.closed, p.over = make(chan struct{}), make(chan struct{}), false
	if p.sub, err = p.nc.Subscribe(p.inbox+"*", p.take); err != nil {
		p.silent.Stop()
		return err
	}
	end := sync.OnceFunc(func() { close(p.ended) })
	p.sub.SetClosedHandler(func(string) { end() })
	if !p.sub.IsValid() { // it was closed before it had the handler
		end()
	}
	go p.watch(p.nc.StatusChanged(nats.CONNECTED, nats.RECONNECTING))
	p.restart()
	return nil
}

// stop ends the asking: what has come and is not handled is lost. See closed.
func (p *pulls) stop() { p.end((*nats.Subscription).Unsubscribe) }

// drain ends the asking: what has come is handled. See closed.
func (p *pulls) drain() { p.end((*nats.Subscription).Drain) }

func (p *pulls) end(leave func(*nats.Subscription) error) {
	p.mu.Lock()
	over := p.over
	p.over = true
	p.mu.Unlock()
	if !over {
		_ = leave(p.sub) // it fails when the connection is closed, and the subscription with it
	}
}

// watch asks again when what was asked for is lost.
func (p *pulls) watch(states chan nats.Status) {
	defer close(p.closed)
	defer p.nc.RemoveStatusListener(states)
	defer p.silent.Stop()
	for away := false; ; {
		select {
		case s := <-states:
			if s == nats.CONNECTED && away {
				p.restart()
			}
			if away = s == nats.RECONNECTING; away {
				p.silent.Stop()
			}
		case <-p.silent.C:
			p.trouble(jetstream.ErrNoHeartbeat)
			p.restart()
		case <-p.ended:
			return
		}
	}
}

// take takes what comes on the subscription.
func (p *pulls) take(m *nats.Msg) {
	p.silent.Stop() // it does not run while a message is handled
	defer p.silent.Reset(pullExpiry)
	if round, ok := strings.CutPrefix(m.Subject, p.inbox); ok {
		p.takeStatus(round, m.Header)
		return
	}
	p.handle(m)
	p.count(1)
}

// takeStatus takes what the server says of requests of a round.
func (p *pulls) takeStatus(round string, header nats.Header) {
	p.mu.Lock()
	stale := round != strconv.Itoa(p.round)
	p.mu.Unlock()
	if stale {
		return
	}
	code, words := header.Get("Status"), header.Get("Description")
	conflict := func(is string) bool { return code == "409" && strings.Contains(strings.ToLower(words), is) }
	switch {
	case code == "100": // a heartbeat
	case code == "404", code == "408", conflict("maxbytes"), conflict("batch completed"): // a request is over
		left, _ := strconv.Atoi(header.Get(pendingHeader))
		p.count(left)
	case code == "423":
		p.know("")
		p.trouble(jetstream.ErrPinIDMismatch)
		p.restart()
	case conflict("leadership change"):
		p.trouble(jetstream.ErrConsumerLeadershipChanged)
		p.restart()
	case conflict("consumer deleted"):
		p.trouble(jetstream.ErrConsumerDeleted)
		p.stop()
	case code == "400":
		p.trouble(fmt.Errorf("%w: %s", jetstream.ErrBadRequest, words))
		p.stop()
	case code == "503":
		p.trouble(nats.ErrNoResponders)
	default: // such as the end of a server: then nothing is heard until p.silent
		p.trouble(fmt.Errorf("pull: %s %s", code, words))
	}
}

// know has requests name a pin; empty: ask for one.
func (p *pulls) know(pin string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pin = pin
}

// knows reports whether requests name that pin.
func (p *pulls) knows(pin string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return pin != "" && p.pin == pin
}

// count notes that n of the messages that were asked for came, or will not.
func (p *pulls) count(n int) {
	p.mu.Lock()
	p.owed = max(0, p.owed-max(0, n))
	err := p.fill()
	p.mu.Unlock()
	p.failed(err)
}

// restart asks for all again, whatever was asked for before.
func (p *pulls) restart() {
	p.mu.Lock()
	p.round++
	p.owed = 0
	err := p.fill()
	p.mu.Unlock()
	p.failed(err)
	p.silent.Reset(pullExpiry)
}

// fill asks for more when less than half is to come. It is called with the lock held.
func (p *pulls) fill() error {
	if p.over || 2*p.owed >= pullMessages {
		return nil
	}
	data, err := json.Marshal(request{
		Batch: pullMessages - p.owed, Expires: pullExpiry, Heartbeat: pullExpiry / 2, Group: laneGroup, Pin: p.pin,
	})
	if err != nil {
		return err
	}
	if err := p.nc.PublishRequest(p.subject, p.inbox+strconv.Itoa(p.round), data); err != nil {
		return fmt.Errorf("ask for messages: %w", err)
	}
	p.owed = pullMessages
	return nil
}

// failed says that a request was not sent: the next message or p.silent has it sent.
func (p *pulls) failed(err error) {
	if err != nil {
		p.trouble(err)
	}
}
