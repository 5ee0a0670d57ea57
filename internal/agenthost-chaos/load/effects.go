package load

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

// Effects are what tools have done, counted where they do it: by call where the
// tool knows it, and by purpose, the tool with its arguments.
type Effects struct {
	mu        sync.Mutex
	byCall    map[string]int
	byPurpose map[string]int
}

func (e *Effects) note(call, purpose string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.byCall[call]++
	e.byPurpose[purpose]++
}

// Counts are the effects so far.
func (e *Effects) Counts() (byCall, byPurpose map[string]int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return maps.Clone(e.byCall), maps.Clone(e.byPurpose)
}

// callIDHeader is where a service finds the id of a call.
const callIDHeader = "Agent-Call-Id"

// A Billing is the NATS service bill, with the tools pay, which must not run
// twice, and look, which may.
type Billing struct {
	Effects Effects
	connect func() (*nats.Conn, error)
	mu      sync.Mutex
	nc      *nats.Conn // of its own, as that of another program; nil: it is away
}

// NewBilling makes a service that is not offered yet.
func NewBilling(connect func() (*nats.Conn, error)) *Billing {
	return &Billing{Effects: Effects{byCall: map[string]int{}, byPurpose: map[string]int{}}, connect: connect}
}

// Start offers the tools.
func (b *Billing) Start() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.nc != nil {
		return nil
	}
	nc, err := b.connect()
	if err != nil {
		return err
	}
	if err := b.offer(nc); err != nil {
		nc.Close()
		return err
	}
	b.nc = nc
	return nil
}

func (b *Billing) offer(nc *nats.Conn) error {
	svc, err := micro.AddService(nc, micro.Config{Name: "bill", Version: "1.0.0"})
	if err != nil {
		return fmt.Errorf("offer bill: %w", err)
	}
	for name, about := range map[string]map[string]string{VerbPay: nil, VerbLook: {"rerun": "safe", "readonly": "true"}} {
		answer := micro.HandlerFunc(func(req micro.Request) {
			b.Effects.note(req.Headers().Get(callIDHeader), "bill."+name+" "+Canonical(req.Data()))
			time.AfterFunc(50*time.Millisecond, func() { _ = req.Respond([]byte("done")) }) // who asked may be gone
		})
		if err := svc.AddEndpoint(name, answer, micro.WithEndpointSubject("bill."+name), micro.WithEndpointMetadata(about)); err != nil {
			return fmt.Errorf("offer bill.%s: %w", name, err)
		}
	}
	return nil
}

// Stop takes the tools away, as when their program is killed.
func (b *Billing) Stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.nc != nil {
		b.nc.Close()
		b.nc = nil
	}
}

// Canonical is JSON in the one form that equal values share.
func Canonical(data []byte) string {
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		return string(data)
	}
	text, err := json.Marshal(v)
	if err != nil {
		return string(data)
	}
	return string(text)
}

// ServeNotes is an MCP server on standard input and output whose tool put adds
// a line to a file.
func ServeNotes(file string) error {
	s := mcp.NewServer(&mcp.Implementation{Name: "notes", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "put", InputSchema: map[string]any{"type": "object"}},
		func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
			if err != nil {
				return nil, err
			}
			defer func() { _ = f.Close() }() // written or reported
			if _, err := fmt.Fprintln(f, "notes.put "+Canonical(req.Params.Arguments)); err != nil {
				return nil, err
			}
			<-time.After(50 * time.Millisecond) // the host, or this server, may die here
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil
		})
	return s.Run(context.Background(), &mcp.StdioTransport{})
}

// ReadNotes counts the lines of a file of ServeNotes.
func ReadNotes(file string) (map[string]int, error) {
	count := map[string]int{}
	data, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		return count, nil
	}
	for line := range strings.Lines(string(data)) {
		count[strings.TrimSuffix(line, "\n")]++
	}
	return count, err
}

// A Hook answers a remote hook, unless it hangs.
type Hook struct{ Hangs atomic.Bool }

// HookSubject is where it is asked.
const HookSubject = "chaos.hook"

// Subscribe begins to answer.
func (h *Hook) Subscribe(nc *nats.Conn) error {
	_, err := nc.Subscribe(HookSubject, func(msg *nats.Msg) {
		if !h.Hangs.Load() {
			_ = msg.Respond([]byte(`{"action":"continue"}`)) // who asked may be gone
		}
	})
	return err
}
