package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/doors"
	"agenthost/doors/doorstest"
	"agenthost/doors/mcp"
	"agenthost/internal/waittest"

	"github.com/rs/zerolog"
)

// A program is one that has started the server on stdio.
type program struct {
	t   *testing.T
	in  *io.PipeWriter
	out *bufio.Scanner
	// hangUp closes the output, at the program's end.
	hangUp func()
	// served is the error of Serve.
	served chan error
}

func start(t *testing.T, h *doorstest.Host) *program {
	t.Helper()
	desk := doors.NewDesk(h.Client, bus.DoorMCP, zerolog.Nop())
	ctx, cancel := context.WithCancel(context.Background())
	desking := make(chan struct{})
	go func() { defer close(desking); _ = desk.Run(ctx) }()
	fromProgram, in := io.Pipe()
	out, toProgram := io.Pipe()
	p := &program{t: t, in: in, out: bufio.NewScanner(out), hangUp: func() { out.Close() }, served: make(chan error, 1)}
	go func() {
		p.served <- mcp.Serve(ctx, desk, fromProgram, toProgram, mcp.Options{From: "bo", Version: "1", Log: zerolog.Nop()})
		toProgram.Close()
	}()
	t.Cleanup(func() {
		in.Close()
		out.Close()
		cancel()
		<-desking
	})
	return p
}

// say writes a line, and read is the next that comes back.
func (p *program) say(line string) {
	p.t.Helper()
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		p.t.Fatal(err)
	}
}

func (p *program) read() (m struct {
	ID    json.RawMessage
	Error struct{ Code int }
},
) {
	p.t.Helper()
	if !p.out.Scan() {
		p.t.Fatalf("the output has ended: %v", p.out.Err())
	}
	if err := json.Unmarshal(p.out.Bytes(), &m); err != nil {
		p.t.Fatalf("line %q: %v", p.out.Text(), err)
	}
	return m
}

// What is no message gets an error, and the server goes on with the next line until its
// input ends.
func TestLinesThatAreNoMessages(t *testing.T) {
	t.Parallel()
	p := start(t, doorstest.Start(t, ""))
	const ping = `{"jsonrpc":"2.0","id":%d,"method":"ping"}`
	bad := []struct{ name, line, id, want string }{
		{"no JSON", `garbage`, "null", "-32700"},
		{"no UTF-8", `{"jsonrpc":"2.0","id":1,"method":"` + "\xff" + `"}`, "null", "-32700"},
		{"half a message", `{"jsonrpc":"2.0","id":1,`, "null", "-32700"},
		{"two in a line", fmt.Sprintf(ping+ping, 1, 2), "null", "-32700"},
		{"a long line", strings.Repeat("x", 5<<20), "null", "-32700"},
		{"an empty list", `[]`, "null", "-32600"},
		{"a list of a number", `[1]`, "null", "-32600"},
		{"null", `null`, "null", "-32600"},
		{"a text", `"ping"`, "null", "-32600"},
		{"another version", `{"jsonrpc":"1.0","id":"a","method":"ping"}`, `"a"`, "-32600"},
		{"a method that is a number", `{"jsonrpc":"2.0","id":7,"method":5}`, "7", "-32600"},
		{"an id of too many digits", `{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, "9007199254740993", "-32600"},
		{"an id that is no whole number", `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, "1.5", "-32600"},
		{"an id that is a list", `{"jsonrpc":"2.0","id":[1],"method":"ping"}`, "null", "-32600"},
		{"nothing in it", `{"jsonrpc":"2.0"}`, "null", "-32600"},
		{"a call before initialize", fmt.Sprintf(callAna, 8, "hi"), "8", "-32600"},
	}
	for i, tt := range bad {
		p.say(tt.line)
		if got := p.read(); string(got.ID) != tt.id || fmt.Sprint(got.Error.Code) != tt.want {
			t.Errorf("%s: got %s %d, want %s %s", tt.name, got.ID, got.Error.Code, tt.id, tt.want)
		}
		p.say("") // nothing is no message either, and no fault
		p.say(" " + fmt.Sprintf(ping, 100+i) + " \r")
		if got := p.read(); string(got.ID) != fmt.Sprint(100+i) || got.Error.Code != 0 {
			t.Fatalf("after %s: got %+v", tt.name, got)
		}
	}
	p.say("[" + fmt.Sprintf(ping, 1) + "," + fmt.Sprintf(ping, 2) + "]")
	if one, two := p.read(), p.read(); one.Error.Code != 0 || two.Error.Code != 0 || string(one.ID)+string(two.ID) != "12" && string(one.ID)+string(two.ID) != "21" {
		t.Errorf("a list of two: got %+v, %+v", one, two)
	}
	p.in.Close()
	if err := <-p.served; err != nil {
		t.Errorf("at the end of the input: got %v", err)
	}
}

const (
	sayHello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{}},"clientInfo":{"name":"x","version":"1"}}}` + "\n" +
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`
	callAna = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"ana","arguments":{"text":%q}}}`
)

// pipe says lines as the whole input, whose last line has no end, and returns what is
// answered to each id until the output ends.
func (p *program) pipe(lines ...string) map[string]string {
	p.t.Helper()
	go func() {
		_, _ = io.WriteString(p.in, strings.Join(lines, "\n"))
		p.in.Close()
	}()
	answers := map[string]string{}
	for p.out.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if err := json.Unmarshal(p.out.Bytes(), &m); err != nil {
			p.t.Fatalf("line %q: %v", p.out.Text(), err)
		}
		if m.Method == "" {
			answers[string(m.ID)] = p.out.Text()
		}
	}
	if err := <-p.served; err != nil {
		p.t.Errorf("at the end of the input: got %v", err)
	}
	return answers
}

// What was sent before the end of the input is answered, also a call. A question that comes
// after it is in the result of the call.
func TestInputEndsBehindRequests(t *testing.T) {
	t.Parallel()
	for round := range 3 {
		t.Run(strconv.Itoa(round), func(t *testing.T) {
			t.Parallel()
			h := doorstest.Start(t, "") // several that wait in one chat would have numbers
			got := start(t, h).pipe(sayHello, `{"jsonrpc":"2.0","id":"two","method":"tools/list"}`,
				fmt.Sprintf(callAna, 3, "story"), fmt.Sprintf(callAna, 4, "write"), fmt.Sprintf(callAna, 5, "hi"))
			for id, want := range map[string]string{
				"1": "protocolVersion", `"two"`: `"name":"ana"`, "3": "Once upon a time.", "4": "Reply approve or deny", "5": "ana: hi",
			} {
				if !strings.Contains(got[id], want) {
					t.Errorf("request %s: got %q, want %q", id, got[id], want)
				}
			}
		})
	}
}

func TestLastLineWithoutItsEnd(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, "")
	for last, want := range map[string]string{
		`{"jsonrpc":"2.0","id":`:   "-32700",
		strings.Repeat("x", 5<<20): "-32700",
		`[1]`:                      "-32600",
	} {
		if got := start(t, h).pipe(sayHello, last)["null"]; !strings.Contains(got, want) {
			t.Errorf("%.30s: got %q, want %s", last, got, want)
		}
	}
}

// The last that comes may be what was asked for.
func TestInputEndsBehindAnAnswer(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, "")
	for round := range 8 {
		t.Run(strconv.Itoa(round), func(t *testing.T) {
			t.Parallel()
			p := start(t, h)
			p.say(sayHello)
			p.read()
			p.say(fmt.Sprintf(callAna, 2, "write"))
			form := p.read() // nothing else comes without a token for progress
			got := p.pipe(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"answer":"approve"}}}`, form.ID))
			if !strings.Contains(got["2"], "done: wrote") {
				t.Fatalf("got %q", got["2"])
			}
		})
	}
}

// A run that goes on for longer than the client can be waited for is told to be under way.
func TestInputEndsBehindALongRun(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		p := start(t, doorstest.Start(t, `http: {listen: ""}`))
		begun := time.Now()
		got := p.pipe(sayHello, fmt.Sprintf(callAna, 2, "endless"))
		if !strings.Contains(got["2"], `"isError":true`) || !strings.Contains(got["2"], "goes on") {
			t.Errorf("got %q", got["2"])
		}
		if took := time.Since(begun); took < 30*time.Second || took > 32*time.Second {
			t.Errorf("ended after %s, want 30 s", took)
		}
	})
}

// An output that was closed ends the door, though a call is under way.
func TestOutputEndsBehindTheInput(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		p := start(t, doorstest.Start(t, `http: {listen: ""}`))
		p.say(sayHello)
		p.read()
		p.say(fmt.Sprintf(callAna, 2, "endless"))
		p.say(fmt.Sprintf(callAna, 3, "hi"))
		begun := time.Now()
		p.in.Close()
		p.hangUp()
		<-p.served
		if took := time.Since(begun); took > 5*time.Second {
			t.Errorf("ended after %s", took)
		}
	})
}

// A call that is cancelled says so in its result, which some clients show.
func TestCancelledCallSaysSo(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, "")
	p := start(t, h)
	p.say(sayHello)
	p.read()
	p.say(fmt.Sprintf(callAna, 2, "endless"))
	waittest.Until(t, "a run", func() bool { return runs(t, h) == 1 })
	p.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
	p.read()
	const want = `"content":[{"type":"text","text":"cancelled: the run of ana was stopped"}]`
	if got := p.out.Text(); !strings.Contains(got, want) {
		t.Errorf("got %s, want %s", got, want)
	}
	waittest.Until(t, "the run is over", func() bool { return runs(t, h) == 0 }) // the host would wait for it
}
