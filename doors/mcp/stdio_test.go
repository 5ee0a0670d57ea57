package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"agenthost/bus"
	"agenthost/doors"
	"agenthost/doors/doorstest"
	"agenthost/doors/mcp"

	"github.com/rs/zerolog"
)

// A program is one that has started the server on stdio.
type program struct {
	t   *testing.T
	in  *io.PipeWriter
	out *bufio.Scanner
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
	p := &program{t: t, in: in, out: bufio.NewScanner(out), served: make(chan error, 1)}
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
		{"half a message", `{"jsonrpc":"2.0","id":1,`, "null", "-32700"},
		{"two in a line", fmt.Sprintf(ping+ping, 1, 2), "null", "-32700"},
		{"a long line", strings.Repeat("x", 5<<20), "null", "-32700"},
		{"an empty list", `[]`, "null", "-32600"},
		{"a list of a number", `[1]`, "null", "-32600"},
		{"null", `null`, "null", "-32600"},
		{"a text", `"ping"`, "null", "-32600"},
		{"another version", `{"jsonrpc":"1.0","id":"a","method":"ping"}`, `"a"`, "-32600"},
		{"a method that is a number", `{"jsonrpc":"2.0","id":7,"method":5}`, "7", "-32600"},
		{"an id that is a list", `{"jsonrpc":"2.0","id":[1],"method":"ping"}`, "null", "-32600"},
		{"nothing in it", `{"jsonrpc":"2.0"}`, "null", "-32600"},
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
