package load

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"sync"

	"agenthost/internal/agenthost-chaos/check"
)

// A Platform is a chat platform of somebody else, with an account of the agents. The host
// that serves the account runs a program, which is connected to it: see ServeRoom. It
// outlives the hosts. What was said and not accepted is said again to each program that
// comes, and every seventh reply is refused at first. Its methods are safe for concurrent
// use.
type Platform struct {
	Address string

	listener net.Listener

	mu       sync.Mutex
	programs map[*program]bool
	said     map[string]*saying // not accepted yet, by id
	order    []string           // ids that were said
	seen     map[string]bool    // replies that came, whether taken or not
	has      map[string]bool
	taken    []string // ids of replies, in the order in which they were taken first
}

// A saying is a message on its way to the agents.
type saying struct {
	line     []byte
	accepted chan struct{} // closed when it is
}

// A program is a connection of an account's program.
type program struct {
	conn  net.Conn
	lines chan []byte // for it
}

// room is how many lines may wait for a program; one that takes none is gone.
const room = 1000

// ListenPlatform makes a platform on a free port. Run serves it.
func ListenPlatform() (*Platform, error) {
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for programs of a channel: %w", err)
	}
	return &Platform{
		Address: l.Addr().String(), listener: l, programs: map[*program]bool{}, said: map[string]*saying{}, seen: map[string]bool{}, has: map[string]bool{},
	}, nil
}

// Run serves programs until ctx ends.
func (p *Platform) Run(ctx context.Context) error {
	var all sync.WaitGroup
	defer all.Wait()
	stop := context.AfterFunc(ctx, func() {
		_ = p.listener.Close()
		p.mu.Lock()
		defer p.mu.Unlock()
		for one := range p.programs {
			_ = one.conn.Close()
		}
	})
	defer stop()
	for {
		conn, err := p.listener.Accept()
		if ctx.Err() != nil {
			if err == nil {
				_ = conn.Close()
			}
			return nil
		}
		if err != nil {
			return err
		}
		all.Go(func() { p.serve(conn) })
	}
}

// serve talks to one program until its connection ends.
func (p *Platform) serve(conn net.Conn) {
	one := &program{conn, make(chan []byte, room)}
	var writing sync.WaitGroup
	defer writing.Wait()
	defer p.leave(one)
	writing.Go(func() {
		for line := range one.lines {
			_, _ = conn.Write(line) // what was not accepted is said again to the next
		}
	})
	p.join(one)
	lines := bufio.NewScanner(conn)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		p.hear(one, lines.Bytes())
	}
}

func (p *Platform) join(one *program) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.programs[one] = true
	for _, id := range p.order {
		if s := p.said[id]; s != nil {
			one.say(s.line)
		}
	}
}

func (p *Platform) leave(one *program) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.programs, one)
	close(one.lines)
	_ = one.conn.Close()
}

// say leaves a line for the program; one that takes none any more is cut off.
func (one *program) say(line []byte) {
	select {
	case one.lines <- line:
	default:
		_ = one.conn.Close()
	}
}

func (p *Platform) hear(one *program, text []byte) {
	var line struct {
		Type, ID string
		Message  struct{ ID string }
	}
	if json.Unmarshal(text, &line) != nil {
		return // a program that was killed leaves half of a line
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch line.Type {
	case "accepted":
		if s := p.said[line.ID]; s != nil {
			delete(p.said, line.ID)
			close(s.accepted)
		}
	case "outbound":
		one.say(p.take(line.Message.ID))
	}
}

// take is what a program is told that brings a reply. The caller holds mu.
func (p *Platform) take(id string) []byte {
	if first := !p.seen[id]; first {
		p.seen[id] = true
		if len(p.seen)%7 == 0 {
			return fmt.Appendf(nil, `{"type":"failed","id":%q,"error":"too many messages","retry_after":"200ms"}`+"\n", id)
		}
	}
	if !p.has[id] {
		p.has[id] = true
		p.taken = append(p.taken, id)
	}
	return fmt.Appendf(nil, `{"type":"delivered","id":%q}`+"\n", id)
}

// Say returns when the agents have accepted a message, or ctx has ended.
func (p *Platform) Say(ctx context.Context, id string, envelope []byte) error {
	s := &saying{fmt.Appendf(nil, `{"type":"inbound","message":%s}`+"\n", envelope), make(chan struct{})}
	p.mu.Lock()
	p.said[id] = s
	p.order = append(p.order, id)
	for one := range p.programs {
		one.say(s.line)
	}
	p.mu.Unlock()
	select {
	case <-s.accepted:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Taken are the replies that it has, by channel, in the order in which they came.
func (p *Platform) Taken() check.Delivered {
	p.mu.Lock()
	defer p.mu.Unlock()
	return check.Delivered{Room: append([]string{}, p.taken...)}
}

// ServeRoom is the program of an account: it carries lines between its host and the platform.
func ServeRoom(address string) error {
	conn, err := new(net.Dialer).DialContext(context.Background(), "tcp", address)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // all that was said is accepted, or said again
	ends := make(chan error, 2)
	go func() { _, err := io.Copy(conn, os.Stdin); ends <- err }()
	go func() { _, err := io.Copy(os.Stdout, conn); ends <- err }()
	return <-ends
}
