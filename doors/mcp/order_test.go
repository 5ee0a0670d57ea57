package mcp_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"testing"

	"agenthost/bus"
	"agenthost/doors/doorstest"
)

// initialized is a program that has initialized its session.
func initialized(t *testing.T, h *doorstest.Host) *program {
	t.Helper()
	p := start(t, h)
	p.say(sayHello)
	p.read()
	return p
}

// messages are those that are stored.
func messages(t *testing.T, h *doorstest.Host) (list []bus.Inbound) {
	t.Helper()
	for seq := range h.Inbound(t) {
		stream, err := h.Client.JetStream().Stream(t.Context(), bus.InboundStream)
		if err != nil {
			t.Fatal(err)
		}
		msg, err := stream.GetMsg(t.Context(), seq+1)
		if err != nil {
			t.Fatal(err)
		}
		var in bus.Inbound
		if err := json.Unmarshal(msg.Data, &in); err != nil {
			t.Fatal(err)
		}
		list = append(list, in)
	}
	return list
}

// The messages of calls in one session are stored in the order of their lines, which a client may send
// without waiting for the results.
func TestCallsOfASessionKeepTheirOrder(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, "")
	p := initialized(t, h)
	const n = 40
	for i := range n {
		p.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"ana","arguments":{"text":"%d","session":"s"}}}`, 100+i, i))
		if i == n/2 { // the SDK refuses it by itself
			p.say(`{"jsonrpc":"2.0","id":"no","method":"tools/call","params":{"name":"nix","arguments":{"text":"hi","session":"s"}}}`)
			p.say(`{"jsonrpc":"2.0","id":"bad","method":"tools/call","params":{"name":"ana","arguments":{"text":1,"session":"s"}}}`)
		}
	}
	for range n + 2 {
		p.read()
	}
	var got []string
	for _, in := range messages(t, h) {
		got = append(got, in.Text)
	}
	for i := range n {
		if i >= len(got) || got[i] != strconv.Itoa(i) {
			t.Fatalf("stored are %q", got)
		}
	}
}

// The SDK answers neither of two requests with one id.
func TestAnIDThatIsUnderWay(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, "")
	p := initialized(t, h)
	call := `{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"ana","arguments":{"text":"story"}}}`
	p.say(call)
	p.say(call)
	if got := p.read(); string(got.ID) != "null" || got.Error.Code != -32600 {
		t.Errorf("got %s %d", got.ID, got.Error.Code)
	}
	if got := p.read(); string(got.ID) != `"a"` || got.Error.Code != 0 {
		t.Errorf("got %s %d", got.ID, got.Error.Code)
	}
	p.say(call)
	if got := p.read(); string(got.ID) != `"a"` || got.Error.Code != 0 {
		t.Errorf("after its answer: got %s %d", got.ID, got.Error.Code)
	}
}

// A call that is cancelled before or while its message is sent has no run that goes on.
func TestCancelAtOnce(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, "")
	p := initialized(t, h)
	for i := range 20 {
		p.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"ana","arguments":{"text":"endless","session":"s%d"}}}`, 100+i, i%10))
		p.say(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, 100+i))
	}
	for range 20 {
		p.read()
	}
	for i := range 10 {
		p.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"ana","arguments":{"text":"hi","session":"s%d"}}}`, 200+i, i))
	}
	for range 10 {
		if got := p.read(); got.Error.Code != 0 {
			t.Errorf("got %s %d", got.ID, got.Error.Code)
		}
	}
	if n := runs(t, h); n != 0 {
		t.Errorf("%d runs go on", n)
	}
}
