package matrixtest

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"io"
	"maps"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"agenthost/internal/interop"
	"agenthost/internal/waittest"
)

//go:embed person.py
var personProgram string

// A Person uses Matrix with matrix-nio, which others wrote.
type Person struct {
	ID string

	t testing.TB

	mu     sync.Mutex
	in     io.WriteCloser
	orders int
	done   map[int]chan Line
	events []Seen
}

// A Line is what the program says.
type Line struct {
	Kind, User, Error, Room, URL string
	N                            int
	Event                        json.RawMessage
}

// Seen is an event that the person sees.
type Seen struct {
	Room    string
	ID      string `json:"event_id"`
	Type    string
	Sender  string
	Content struct {
		Type       string          `json:"msgtype"`
		Body       string          `json:"body"`
		HTML       string          `json:"formatted_body"`
		URL        string          `json:"url"`
		Filename   string          `json:"filename"`
		NewContent json.RawMessage `json:"m.new_content"`
		Mentions   struct {
			Users []string `json:"user_ids"`
		} `json:"m.mentions"`
		Relates struct {
			Type      string `json:"rel_type"`
			Event     string `json:"event_id"`
			InReplyTo struct {
				Event string `json:"event_id"`
			} `json:"m.in_reply_to"`
		} `json:"m.relates_to"`
	}
}

// nio skips the test where matrix-nio is not installed.
func nio(t testing.TB) {
	interop.Program(t, "/usr/bin/python3")
	if out, err := exec.Command("/usr/bin/python3", "-c", "import nio").CombinedOutput(); err != nil {
		t.Skipf("python3-matrix-nio is not installed: %s", out)
	}
}

// NewPerson logs a user in.
func NewPerson(t testing.TB, homeserver, user, password string) *Person {
	t.Helper()
	nio(t)
	cmd := exec.Command("/usr/bin/python3", "-c", personProgram, homeserver, user, password)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var words strings.Builder
	cmd.Stderr = &words
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &Person{t: t, in: in, done: map[int]chan Line{}}
	login := make(chan Line, 1)
	ended := make(chan struct{})
	go func() { defer close(ended); p.read(out, login) }()
	t.Cleanup(func() {
		in.Close()
		<-ended
		_ = cmd.Wait()
		if t.Failed() && words.Len() > 0 {
			t.Logf("what nio says: %s", tail([]byte(words.String())))
		}
	})
	first := waittest.For(t, "login of "+user, login)
	if first.Error != "" {
		t.Fatalf("login of %s: %s", user, first.Error)
	}
	p.ID = first.User
	return p
}

func (p *Person) read(out io.Reader, login chan<- Line) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var l Line
		if json.Unmarshal(lines.Bytes(), &l) != nil {
			continue
		}
		p.mu.Lock()
		switch l.Kind {
		case "login":
			login <- l
		case "done":
			p.done[l.N] <- l
		case "event":
			e := Seen{Room: l.Room}
			if json.Unmarshal(l.Event, &e) == nil {
				p.events = append(p.events, e)
			}
		}
		p.mu.Unlock()
	}
}

// Order has the person do something.
func (p *Person) Order(do string, with map[string]any) Line {
	p.t.Helper()
	order := map[string]any{"do": do}
	maps.Copy(order, with)
	p.mu.Lock()
	p.orders++
	order["n"] = p.orders
	done := make(chan Line, 1)
	p.done[p.orders] = done
	encoded, _ := json.Marshal(order)
	_, err := p.in.Write(append(encoded, '\n'))
	p.mu.Unlock()
	if err != nil {
		p.t.Fatal(err)
	}
	answer := waittest.For(p.t, do, done)
	if answer.Error != "" {
		p.t.Fatalf("%s: %s", do, answer.Error)
	}
	return answer
}

// Room makes a room and invites users.
func (p *Person) Room(direct bool, invite ...string) string {
	p.t.Helper()
	return p.Order("create", map[string]any{"invite": invite, "direct": direct}).Room
}

// Send sends a message and returns the id of its event.
func (p *Person) Send(room string, content map[string]any) string {
	p.t.Helper()
	var id string
	_ = json.Unmarshal(p.Order("send", map[string]any{"room": room, "content": content}).Event, &id)
	return id
}

// Say sends a text.
func (p *Person) Say(room, text string) string {
	p.t.Helper()
	return p.Send(room, map[string]any{"msgtype": "m.text", "body": text})
}

// Sees waits for an event of someone else in a room for which holds is true.
func (p *Person) Sees(what, room string, holds func(e Seen) bool) Seen {
	p.t.Helper()
	var found Seen
	waittest.Until(p.t, what, func() bool {
		for _, e := range p.Seen(room) {
			if holds(e) {
				found = e
				return true
			}
		}
		return false
	})
	return found
}

// Seen are the messages of others in a room.
func (p *Person) Seen(room string) []Seen {
	p.mu.Lock()
	defer p.mu.Unlock()
	var found []Seen
	for _, e := range p.events {
		if e.Room == room && e.Type == "m.room.message" && e.Sender != p.ID {
			found = append(found, e)
		}
	}
	return found
}

// SawJoin waits until a user has joined a room.
func (p *Person) SawJoin(room, user string) {
	p.t.Helper()
	waittest.Until(p.t, user+" joins "+room, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, e := range p.events {
			if e.Room == room && e.Type == "m.room.member" && e.Sender == user {
				return true
			}
		}
		return false
	})
}
