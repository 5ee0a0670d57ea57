package acp_test

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
	"agenthost/doors/acp"
	"agenthost/doors/doorstest"
	"agenthost/internal/waittest"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"
)

func TestMain(m *testing.M) { doorstest.Main(m) }

// An editor is one by hand. What it gets is answered by its test.
type editor struct {
	t   *testing.T
	in  *io.PipeWriter
	out *bufio.Scanner
	end func() // of the program
	// hangUp closes the output, at the program's end.
	hangUp func()
	served chan struct{}
	last   int
	// answer is that to a request of the agent; nil: there is to be none.
	answer  func(method string, params json.RawMessage) any
	updates []string
}

type message struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
	}
}

func edit(t *testing.T, h *doorstest.Host) *editor {
	t.Helper()
	desk := doors.NewDesk(h.Client, bus.DoorACP, zerolog.Nop())
	ctx, cancel := context.WithCancel(context.Background())
	desking, served := make(chan struct{}), make(chan struct{})
	go func() { defer close(desking); _ = desk.Run(ctx) }()
	agent, err := acp.Choose(ctx, desk, "")
	if err != nil {
		t.Fatal(err)
	}
	serving, stop := context.WithCancel(ctx)
	fromEditor, in := io.Pipe()
	out, toEditor := io.Pipe()
	go func() {
		defer close(served)
		err := acp.Serve(serving, desk, agent, fromEditor, toEditor, acp.Options{From: "bo", Version: "1"})
		toEditor.CloseWithError(err)
	}()
	e := &editor{t: t, in: in, out: bufio.NewScanner(out), hangUp: func() { out.Close() }, served: served}
	e.out.Buffer(nil, 64<<20)
	e.end = func() {
		in.Close()
		go io.Copy(io.Discard, out)
		stop()
		<-served
		cancel()
		<-desking
	}
	t.Cleanup(e.end)
	return e
}

func (e *editor) write(format string, args ...any) {
	e.t.Helper()
	if _, err := fmt.Fprintf(e.in, format+"\n", args...); err != nil {
		e.t.Fatal(err)
	}
}

func (e *editor) read() message {
	e.t.Helper()
	if !e.out.Scan() {
		e.t.Fatalf("the output has ended: %v", e.out.Err())
	}
	var m message
	if err := json.Unmarshal(e.out.Bytes(), &m); err != nil {
		e.t.Fatalf("line %q: %v", e.out.Text(), err)
	}
	return m
}

// send sends a request, and returns its id.
func (e *editor) send(method string, params any) string {
	e.t.Helper()
	e.last++
	data, _ := json.Marshal(params)
	e.write(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, e.last, method, data)
	return fmt.Sprint(e.last)
}

// await reads up to the response of a request, notes updates and answers requests.
func (e *editor) await(id string) message {
	e.t.Helper()
	for {
		m := e.read()
		switch {
		case m.Method == "session/update":
			e.note(m.Params)
		case m.Method != "":
			if e.answer == nil {
				e.t.Fatalf("request %s %s", m.Method, m.Params)
			}
			if answer := e.answer(m.Method, m.Params); answer != nil {
				data, _ := json.Marshal(answer)
				e.write(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, data)
			}
		case string(m.ID) == id:
			return m
		default:
			e.t.Fatalf("got %+v, want the response to %s", m, id)
		}
	}
}

// note keeps an update as a line.
func (e *editor) note(params json.RawMessage) {
	var p struct {
		Update struct {
			SessionUpdate, Title, Kind, Status string
			Content                            json.RawMessage
		}
	}
	if err := json.Unmarshal(params, &p); err != nil {
		e.t.Fatal(err)
	}
	u := p.Update
	var one struct{ Text string }
	var many []struct{ Content struct{ Text string } }
	if json.Unmarshal(u.Content, &one) != nil && json.Unmarshal(u.Content, &many) == nil && len(many) > 0 {
		one.Text = many[0].Content.Text
	}
	line := strings.Join(strings.Fields(strings.Join([]string{u.SessionUpdate, u.Title, u.Kind, u.Status, one.Text}, " ")), " ")
	last := len(e.updates) - 1
	if last >= 0 && strings.HasSuffix(u.SessionUpdate, "_chunk") && strings.HasPrefix(e.updates[last], u.SessionUpdate) {
		e.updates[last] += strings.TrimSuffix(" "+one.Text, " ")
		return
	}
	e.updates = append(e.updates, line)
}

func (e *editor) call(method string, params, result any) {
	e.t.Helper()
	m := e.await(e.send(method, params))
	if m.Error != nil {
		e.t.Fatalf("%s: %+v", method, m.Error)
	}
	if result != nil {
		if err := json.Unmarshal(m.Result, result); err != nil {
			e.t.Fatal(err)
		}
	}
}

func (e *editor) begin() (session string) {
	e.t.Helper()
	e.call("initialize", map[string]any{"protocolVersion": 1}, nil)
	var r struct{ SessionID string }
	e.call("session/new", map[string]any{"cwd": "/", "mcpServers": []any{}}, &r)
	return r.SessionID
}

func prompt(session, text string) map[string]any {
	return map[string]any{"sessionId": session, "prompt": []any{map[string]any{"type": "text", "text": text}}}
}

// prompt returns why the turn has ended.
func (e *editor) prompt(session, text string) string {
	e.t.Helper()
	var r struct{ StopReason string }
	e.call("session/prompt", prompt(session, text), &r)
	return r.StopReason
}

func (e *editor) got(want ...string) {
	e.t.Helper()
	if diff := cmp.Diff(want, e.updates); diff != "" {
		e.t.Errorf("updates (-want +got):\n%s", diff)
	}
	e.updates = nil
}

// choose answers requests for permission with an option.
func choose(option string) func(string, json.RawMessage) any {
	return func(string, json.RawMessage) any {
		return map[string]any{"outcome": map[string]any{"outcome": "selected", "optionId": option}}
	}
}

func TestInitialize(t *testing.T) {
	t.Parallel()
	e := edit(t, doorstest.Start(t, ""))
	m := e.await(e.send("initialize", map[string]any{"protocolVersion": 7}))
	want := `{"protocolVersion":1,"agentCapabilities":{"loadSession":true,"promptCapabilities":{"image":true,"audio":false,"embeddedContext":true}},` +
		`"agentInfo":{"name":"agenthost","title":"ana","version":"1"},"authMethods":[]}`
	if string(m.Result) != want {
		t.Errorf("got %s", m.Result)
	}
}

// A turn whose answer the model ended at its longest length says so.
func TestPromptWithALongAnswer(t *testing.T) {
	t.Parallel()
	e := edit(t, doorstest.Start(t, ""))
	if reason, got := e.prompt(e.begin(), "long"), strings.Join(e.updates, "|"); reason != "max_tokens" || !strings.Contains(got, "far") || !strings.Contains(got, "maximum length") {
		t.Errorf("got %s after %q", reason, got)
	}
}

func TestPrompt(t *testing.T) {
	t.Parallel()
	e := edit(t, doorstest.Start(t, ""))
	s := e.begin()
	for text, want := range map[string]string{"hi": "agent_message_chunk ana: hi", "story": "agent_message_chunk Once upon a time."} {
		if reason := e.prompt(s, text); reason != "end_turn" {
			t.Errorf("%s: got %s", text, reason)
		}
		if got := strings.Join(strings.Fields(strings.Join(e.updates, "")), " "); got != want {
			t.Errorf("%s: got %q", text, e.updates)
		}
		e.updates = nil
	}
	m := e.await(e.send("session/prompt", prompt(s, "broken")))
	if m.Error == nil || m.Error.Code != -32603 || m.Error.Message == "" {
		t.Errorf("a run that fails: got %+v", m)
	}
}

func TestPermission(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, "")
	for option, want := range map[string]string{"once": "done: wrote", "session": "done: wrote", "always": "done: wrote", "deny": "denied"} {
		t.Run(option, func(t *testing.T) { // one after the other: always is for all that follow
			e := edit(t, h)
			s := e.begin()
			asked := 0
			e.answer = func(method string, params json.RawMessage) any {
				asked++
				if method != "session/request_permission" || !strings.Contains(string(params), "note.txt") {
					t.Errorf("got %s %s", method, params)
				}
				return choose(option)(method, params)
			}
			if reason := e.prompt(s, "write"); reason != "end_turn" {
				t.Errorf("got %s", reason)
			}
			if got := e.updates[len(e.updates)-1]; !strings.Contains(got, want) {
				t.Errorf("got %q, want %q at the end", e.updates, want)
			}
			if e.updates[0] != "tool_call write_file edit in_progress" {
				t.Errorf("got %q", e.updates)
			}
			e.prompt(s, "write")
			if again := asked - 1; (again > 0) != (option == "once" || option == "deny") {
				t.Errorf("asked %d times more", again)
			}
		})
		if option == "always" {
			list, err := h.Client.Allowed(t.Context())
			if err != nil || len(list) == 0 {
				t.Fatalf("got %v, %v", list, err)
			}
			for _, a := range list {
				if _, err := h.Client.Revoke(t.Context(), a.ID); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

func TestChoice(t *testing.T) {
	t.Parallel()
	e := edit(t, doorstest.Start(t, ""))
	s := e.begin()
	e.answer = choose("1")
	if reason := e.prompt(s, "colour"); reason != "end_turn" || !strings.Contains(e.updates[len(e.updates)-1], "You like Blue.") {
		t.Errorf("got %s, %q", reason, e.updates)
	}
}

// A question that any text answers is a form, or else the next prompt answers it.
func TestQuestion(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, "")
	e := edit(t, h)
	s := e.begin()
	if reason := e.prompt(s, "name"); reason != "end_turn" || !strings.Contains(e.updates[len(e.updates)-1], "Which name?") {
		t.Errorf("got %s, %q", reason, e.updates)
	}
	e.updates = nil
	if reason := e.prompt(s, "Bo"); reason != "end_turn" || e.updates[len(e.updates)-1] != "agent_message_chunk You like Bo." {
		t.Errorf("the answer: got %s, %q", reason, e.updates)
	}
	e = edit(t, h)
	e.call("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": map[string]any{"elicitation": map[string]any{"form": map[string]any{}}}}, nil)
	var r struct{ SessionID string }
	e.call("session/new", map[string]any{"cwd": "/", "mcpServers": []any{}}, &r)
	e.answer = func(method string, params json.RawMessage) any {
		if method != "elicitation/create" || !strings.Contains(string(params), "Which name?") {
			t.Errorf("got %s %s", method, params)
		}
		return map[string]any{"action": "accept", "content": map[string]any{"answer": "Bo"}}
	}
	if reason := e.prompt(r.SessionID, "name"); reason != "end_turn" || e.updates[len(e.updates)-1] != "agent_message_chunk You like Bo." {
		t.Errorf("a form: got %s, %q", reason, e.updates)
	}
}

func TestTextsStayTexts(t *testing.T) {
	t.Parallel()
	e := edit(t, doorstest.Start(t, ""))
	s := e.begin()
	for _, text := range []string{
		"<script>alert(1)</script>", "\r\nContent-Length: 0", "{}", "null", "\u2028", "\u0001", "\ufeffx", "`reboot`", "../../etc/passwd", "${jndi:ldap://x}", "/stop", "approve",
	} {
		if reason := e.prompt(s, "say "+text); reason != "end_turn" {
			t.Errorf("%q: got %s", text, reason)
		}
		if got := e.updates[len(e.updates)-1]; !strings.HasPrefix(got, "agent_message_chunk") || len(e.updates) != 1 {
			t.Errorf("%q: got %q", text, e.updates)
		}
		e.updates = nil
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, "")
	for name, text := range map[string]string{"a model": "endless", "a person": "write"} {
		t.Run(name, func(t *testing.T) {
			e := edit(t, h)
			s := e.begin()
			e.answer = func(string, json.RawMessage) any { return nil }
			id := e.send("session/prompt", prompt(s, text))
			waittest.Until(t, "a run", func() bool {
				list, err := h.Client.Runs(bustest.Context(t))
				return err == nil && len(list.Runs) > 0
			})
			e.write(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":%q}}`, s)
			if m := e.await(id); string(m.Result) != `{"stopReason":"cancelled"}` {
				t.Errorf("got %s, %+v", m.Result, m.Error)
			}
			if reason := e.prompt(s, "hi"); reason != "end_turn" {
				t.Errorf("after it: got %s", reason)
			}
		})
	}
}

func TestLoad(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, "")
	first := edit(t, h)
	s := first.begin()
	first.answer = choose("once")
	first.prompt(s, "hi")
	first.prompt(s, "write")
	first.end()
	e := edit(t, h)
	e.call("initialize", map[string]any{"protocolVersion": 1}, nil)
	e.call("session/load", map[string]any{"sessionId": s, "cwd": "/", "mcpServers": []any{}}, nil)
	e.got("user_message_chunk hi", "agent_message_chunk ana: hi", "user_message_chunk write",
		"tool_call write_file edit in_progress", "tool_call_update pending", "tool_call_update in_progress",
		"tool_call_update completed wrote 5 bytes to note.txt", "agent_message_chunk done: wrote 5 bytes to note.txt")
	if reason := e.prompt(s, "and now"); reason != "end_turn" {
		t.Errorf("got %s", reason)
	}
	e.got("agent_message_chunk ana: and now")
}

// An approval that was asked for when the editor ended is asked for again.
func TestApprovalOfAnEarlierEditor(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, "")
	first := edit(t, h)
	s := first.begin()
	asked := false
	first.answer = func(string, json.RawMessage) any { asked = true; return nil }
	first.send("session/prompt", prompt(s, "write"))
	for !asked {
		if m := first.read(); m.Method == "session/request_permission" {
			asked = true
		}
	}
	first.end()
	e := edit(t, h)
	e.call("initialize", map[string]any{"protocolVersion": 1}, nil)
	e.call("session/load", map[string]any{"sessionId": s, "cwd": "/", "mcpServers": []any{}}, nil)
	again := 0
	e.answer = func(method string, params json.RawMessage) any {
		again++
		return choose("once")(method, params)
	}
	if reason := e.prompt(s, "hi"); reason != "end_turn" || again != 1 {
		t.Errorf("got %s, asked %d times", reason, again)
	}
}

func TestBlocks(t *testing.T) {
	t.Parallel()
	e := edit(t, doorstest.Start(t, ""))
	s := e.begin()
	e.call("session/prompt", map[string]any{"sessionId": s, "prompt": []any{
		map[string]any{"type": "text", "text": "look"},
		map[string]any{"type": "resource_link", "name": "a.go", "uri": "file:///a.go"},
		map[string]any{"type": "resource", "resource": map[string]any{"uri": "file:///b.go", "text": "package b"}},
		map[string]any{"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgo="},
	}}, nil)
	got := strings.Join(e.updates, "")
	for _, want := range []string{"look", "[a.go](file:///a.go)", "file:///b.go ``` package b ```"} {
		if !strings.Contains(got, want) {
			t.Errorf("got %q, want %q in it", got, want)
		}
	}
}

func TestWhatIsWrong(t *testing.T) {
	t.Parallel()
	e := edit(t, doorstest.Start(t, ""))
	s := e.begin()
	one := func(b any) map[string]any { return map[string]any{"sessionId": s, "prompt": []any{b}} }
	for name, tt := range map[string]struct {
		method string
		params any
		code   int
		want   string
	}{
		"no method":          {"session/fly", map[string]any{}, -32601, `no method "session/fly"`},
		"no such session":    {"session/prompt", prompt("x", "hi"), -32002, `session "x" is not known`},
		"none to load":       {"session/load", map[string]any{"sessionId": "x\n*.>"}, -32002, "is not known"},
		"empty":              {"session/prompt", map[string]any{"sessionId": s}, -32602, "the prompt is empty"},
		"a text":             {"session/prompt", map[string]any{"sessionId": s, "prompt": "hi"}, -32602, "params: prompt cannot be a string"},
		"audio":              {"session/prompt", one(map[string]any{"type": "audio"}), -32602, `block 1 of the prompt: type "audio" is not taken`},
		"no resource":        {"session/prompt", one(map[string]any{"type": "resource"}), -32602, "resource is missing"},
		"no base64":          {"session/prompt", one(map[string]any{"type": "image", "data": "?"}), -32602, "not base64"},
		"params of a text":   {"initialize", "hi", -32602, "params: it is a string"},
		"too long":           {"session/prompt", prompt(s, strings.Repeat("x", 2<<20)), -32602, "more than NATS takes"},
		"a cancel by a call": {"session/cancel", map[string]any{"sessionId": s}, -32600, "is a notification"},
	} {
		m := e.await(e.send(tt.method, tt.params))
		if m.Error == nil || m.Error.Code != tt.code || !strings.Contains(m.Error.Message, tt.want) {
			t.Errorf("%s: got %+v", name, m.Error)
		}
	}
	for name, tt := range map[string]struct {
		line string
		code int
	}{
		"no JSON":  {"{", -32700},
		"no UTF-8": {`{"jsonrpc":"2.0","id":1,"method":"` + "\xff" + `"}`, -32700},
		"a list":   {"[]", -32600},
		"a number": {"7", -32600},
		"nothing":  {"{}", -32600},
		"deep":     {strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000), -32700},
		"long":     {strings.Repeat("x", 33<<20), -32700},
	} {
		e.write("%s", tt.line)
		if m := e.read(); m.Error == nil || m.Error.Code != tt.code || string(m.ID) != "null" {
			t.Errorf("%s: got %+v", name, m)
		}
	}
	e.write("")
	e.write(`{"jsonrpc":"2.0","method":"session/prompt","params":{"sessionId":%q}}`, s)
	e.write(`{"jsonrpc":"2.0","id":99,"result":{}}`)
	if reason := e.prompt(s, "hi"); reason != "end_turn" {
		t.Errorf("after all that: got %s", reason)
	}
}

func TestOnePromptAtOnce(t *testing.T) {
	t.Parallel()
	e := edit(t, doorstest.Start(t, ""))
	s := e.begin()
	first := e.send("session/prompt", prompt(s, "endless"))
	second := e.send("session/prompt", prompt(s, "hi"))
	if m := e.await(second); m.Error == nil || !strings.Contains(m.Error.Message, "under way") {
		t.Errorf("got %+v", m)
	}
	e.write(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":%q}}`, s)
	if m := e.await(first); string(m.Result) != `{"stopReason":"cancelled"}` {
		t.Errorf("got %s, %+v", m.Result, m.Error)
	}
}

// What was sent before the end of the input is answered. No question is put to the editor after it.
func TestInputEndsBehindAPrompt(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, "")
	for text, want := range map[string]string{"story": "Once upon a time.", "hi": "ana: hi", "write": "Ana wants to write note.txt"} {
		e := edit(t, h)
		s := e.begin()
		id := e.send("session/prompt", prompt(s, text))
		e.in.Close()
		e.answer = func(string, json.RawMessage) any { return nil } // it may have been asked before
		m := e.await(id)
		if got := strings.Join(e.updates, "\n"); string(m.Result) != `{"stopReason":"end_turn"}` || !strings.Contains(strings.Join(strings.Fields(got), " "), want) {
			t.Errorf("%s: got %+v, %q", text, m, got)
		}
		if e.out.Scan() {
			t.Errorf("%s: got %q behind it", text, e.out.Text())
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
			e := edit(t, h)
			s := e.begin()
			e.answer = func(method string, params json.RawMessage) any {
				defer e.in.Close()
				answer, _ := json.Marshal(choose("once")(method, params))
				e.write(`{"jsonrpc":"2.0","id":1,"result":%s}`, answer)
				return nil
			}
			m := e.await(e.send("session/prompt", prompt(s, "write")))
			if got := strings.Join(e.updates, "\n"); m.Error != nil || !strings.Contains(got, "done: wrote") {
				t.Fatalf("got %+v, %q", m, got)
			}
		})
	}
}

// A run that goes on for longer than the editor can be waited for is told to be under way.
func TestInputEndsBehindALongRun(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		e := edit(t, doorstest.Start(t, `http: {listen: ""}`))
		s := e.begin()
		begun := time.Now()
		id := e.send("session/prompt", prompt(s, "endless"))
		e.in.Close()
		if m := e.await(id); m.Error == nil || !strings.Contains(m.Error.Message, "goes on") {
			t.Errorf("got %+v", m)
		}
		if took := time.Since(begun); took < 30*time.Second || took > 32*time.Second {
			t.Errorf("ended after %s, want 30 s", took)
		}
	})
}

// An output that was closed ends the door, though a prompt is under way.
func TestOutputEndsBehindTheInput(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		e := edit(t, doorstest.Start(t, `http: {listen: ""}`))
		s := e.begin()
		begun := time.Now()
		e.send("session/prompt", prompt(s, "endless"))
		e.send("no/method", nil)
		e.in.Close()
		e.hangUp()
		<-e.served
		if took := time.Since(begun); took > 5*time.Second {
			t.Errorf("ended after %s", took)
		}
	})
}
