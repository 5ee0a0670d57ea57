package openai_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"agenthost/bus/bustest"
	"agenthost/doors/doorstest"

	"github.com/google/go-cmp/cmp"
)

func TestMain(m *testing.M) { doorstest.Main(m) }

// An answer is what a request got.
type answer struct {
	Status int
	Header http.Header
	Body   string
}

// get takes one field of the body, by its names and numbers.
func (a answer) get(t *testing.T, path ...any) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(a.Body), &v); err != nil {
		t.Fatalf("%d %s: %v", a.Status, a.Body, err)
	}
	for _, p := range path {
		switch p := p.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[p]
		case int:
			l, _ := v.([]any)
			if p >= len(l) {
				t.Fatalf("%s has no %v", a.Body, path)
			}
			v = l[p]
		}
	}
	return v
}

func (a answer) content(t *testing.T) any {
	t.Helper()
	return a.get(t, "choices", 0, "message", "content")
}

// events are the data of the body, which is a stream.
func (a answer) events() (list []map[string]any) {
	s := bufio.NewScanner(strings.NewReader(a.Body))
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		data, ok := strings.CutPrefix(s.Text(), "data: ")
		v := map[string]any{}
		if ok && json.Unmarshal([]byte(data), &v) == nil {
			list = append(list, v)
		}
	}
	return list
}

type header map[string]string

func ask(t testing.TB, h *doorstest.Host, method, path string, body any, headers header) answer {
	t.Helper()
	return askAt(bustest.Context(t), t, h.HTTP(), method, path, body, headers)
}

func askAt(ctx context.Context, t testing.TB, address, method, path string, body any, headers header) answer {
	t.Helper()
	a, err := tryAt(ctx, address, method, path, body, headers)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func tryAt(ctx context.Context, address, method, path string, body any, headers header) (answer, error) {
	var data []byte
	switch b := body.(type) {
	case nil:
	case string:
		data = []byte(b)
	default:
		var err error
		if data, err = json.Marshal(b); err != nil {
			return answer{}, err
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, "http://"+address+path, bytes.NewReader(data))
	if err != nil {
		return answer{}, err
	}
	for k, v := range headers {
		r.Header.Set(k, v)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	return answer{res.StatusCode, res.Header, string(got)}, err
}

type object = map[string]any

func says(role, text string) object { return object{"role": role, "content": text} }

func chatOf(text string) object {
	return object{"model": "ana", "messages": []object{says("user", text)}}
}

const chatPath = "/v1/chat/completions"

func TestModels(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, "")
	a := ask(t, h, "GET", "/v1/models", nil, nil)
	want := object{"object": "list", "data": []any{object{"id": "ana", "object": "model", "created": 0.0, "owned_by": "agenthost", "description": "Helps."}}}
	if diff := cmp.Diff(any(want), a.get(t)); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	if a := ask(t, h, "GET", "/v1/models/ana", nil, nil); a.get(t, "id") != "ana" {
		t.Errorf("got %+v", a)
	}
	for _, id := range []string{"shy", "nobody"} {
		if a := ask(t, h, "GET", "/v1/models/"+id, nil, nil); a.Status != 404 || a.get(t, "error", "code") != "validation" {
			t.Errorf("%s: got %+v", id, a)
		}
	}
}

func TestChat(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, "")
	a := ask(t, h, "POST", chatPath, chatOf("hi"), nil)
	if a.Status != 200 || a.content(t) != "ana: hi" || a.get(t, "choices", 0, "finish_reason") != "stop" || a.get(t, "object") != "chat.completion" {
		t.Errorf("got %+v", a)
	}
	if id, _ := a.get(t, "id").(string); !strings.HasPrefix(id, "chatcmpl-") {
		t.Errorf("id: got %s", a.Body)
	}
}

func TestChatStream(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, "")
	req := chatOf("story")
	req["stream"], req["stream_options"] = true, object{"include_usage": true}
	a := ask(t, h, "POST", chatPath, req, nil)
	text, finish, usage := "", 0, 0
	for _, e := range a.events() {
		list, _ := e["choices"].([]any)
		if e["usage"] != nil {
			usage++
		}
		if _, there := e["usage"]; !there {
			t.Errorf("a chunk without usage, where it is asked for: %v", e)
		}
		for _, c := range list {
			choice, _ := c.(object)
			delta, _ := choice["delta"].(object)
			piece, _ := delta["content"].(string)
			text += piece
			if choice["finish_reason"] == "stop" {
				finish++
			}
		}
	}
	if text != "Once upon a time." || finish != 1 || usage != 1 || !strings.HasSuffix(a.Body, "data: [DONE]\n\n") {
		t.Errorf("got %q, %d ends, %d usages: %s", text, finish, usage, a.Body)
	}
	if n := len(a.events()); n < 5 {
		t.Errorf("%d events: it did not come in pieces", n)
	}
}

func TestConversationOfTheRequest(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, "")
	req := object{"model": "ana", "messages": []object{
		says("system", "Be brief."), says("user", "one"), says("assistant", "two"), says("user", "three"),
	}}
	a := ask(t, h, "POST", chatPath, req, nil)
	if a.content(t) != "ana: three" {
		t.Errorf("got %+v", a)
	}
	sid := sessionOf(t, h, a)
	state, _, err := h.Client.Sessions().State(t.Context(), "ana", sid)
	if err != nil {
		t.Fatal(err)
	}
	got := []string{}
	for _, m := range state.Messages {
		got = append(got, string(m.Role)+": "+m.Text())
	}
	want := []string{"user: Be brief.", "user: one", "assistant: two", "user: three", "assistant: ana: three"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("session (-want +got):\n%s", diff)
	}
}

// sessionOf is the sid of the session that an answer came from.
func sessionOf(t *testing.T, h *doorstest.Host, a answer) string {
	t.Helper()
	sid, err := h.Client.Sessions().Find(t.Context(), "ana", "openai/dm/"+a.Header.Get("Agent-Session"))
	if err != nil {
		t.Fatal(err)
	}
	return sid
}

func TestDurableSession(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, "")
	in := header{"Agent-Session": "desk 7"}
	first := ask(t, h, "POST", chatPath, chatOf("one"), in)
	req := object{"model": "ana", "messages": []object{says("user", "one"), says("assistant", "ana: one"), says("user", "two"), says("user", "three")}}
	second := ask(t, h, "POST", chatPath, req, in)
	if first.content(t) != "ana: one" || second.content(t) != "ana: two\n\nthree" {
		t.Errorf("got %s, %s", first.Body, second.Body)
	}
	sid, err := h.Client.Sessions().Find(t.Context(), "ana", "openai/dm/desk 7")
	if err != nil {
		if sid, err = h.Client.Sessions().Find(t.Context(), "ana", "openai/dm/desk%207"); err != nil {
			t.Fatal(err)
		}
	}
	state, _, err := h.Client.Sessions().State(t.Context(), "ana", sid)
	if err != nil || len(state.Messages) != 4 {
		t.Errorf("got %d messages, %v", len(state.Messages), err)
	}
}

func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	cfg := doorstest.Config(t, "")
	h := doorstest.Serve(t, cfg)
	keyed := header{"Idempotency-Key": "k 1/ä"}
	first := ask(t, h, "POST", chatPath, chatOf("hi"), keyed)
	again := ask(t, h, "POST", chatPath, chatOf("hi"), keyed)
	if first.Status != 200 || first.Body != again.Body {
		t.Errorf("again: got %s, first %s", again.Body, first.Body)
	}
	for what, headers := range map[string]header{"body": keyed, "session": {"Idempotency-Key": "k 1/ä", "Agent-Session": "s"}} {
		req := chatOf("hi")
		if what == "body" {
			req = chatOf("hello")
		}
		if a := ask(t, h, "POST", chatPath, req, headers); a.Status != 422 || a.get(t, "error", "code") != "validation" {
			t.Errorf("with another %s: got %+v", what, a)
		}
	}
	if n := h.Inbound(t); n != 1 {
		t.Errorf("%d messages are stored, want 1", n)
	}
	h.Stop()
	h = doorstest.Serve(t, cfg)
	if again := ask(t, h, "POST", chatPath, chatOf("hi"), keyed); first.Body != again.Body {
		t.Errorf("after a restart: got %s, first %s", again.Body, first.Body)
	}
	if n := h.Inbound(t); n != 1 {
		t.Errorf("%d messages are stored, want 1", n)
	}
}

func TestRetryWithoutKey(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, tokens)
	try := func(body object, token, count string) answer {
		t.Helper()
		return ask(t, h, "POST", chatPath, body, header{"Authorization": "Bearer " + token, "X-Stainless-Retry-Count": count})
	}
	first := try(chatOf("hi"), "ci-secret", "")
	if again := try(chatOf("hi"), "ci-secret", "1"); first.Body != again.Body {
		t.Errorf("again: got %s, first %s", again.Body, first.Body)
	}
	other := chatOf("hi")
	other["user"] = "bo"
	for what, a := range map[string]answer{
		"no retry":       try(chatOf("hi"), "ci-secret", "0"),
		"another body":   try(chatOf("hello"), "ci-secret", "1"),
		"another person": try(other, "ci-secret", "1"),
		"another token":  try(chatOf("hi"), "all", "1"),
	} {
		if a.Status != 200 || a.get(t, "id") == first.get(t, "id") {
			t.Errorf("%s: got %+v", what, a)
		}
	}
	if n := h.Inbound(t); n != 5 {
		t.Errorf("%d messages are stored, want 5", n)
	}
}

// What the agent asks ends the answer; the next message of the session settles it.
func TestApprovalAndQuestion(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, "")
	in := header{"Agent-Session": "s"}
	keyed := header{"Agent-Session": "s", "Idempotency-Key": "k"}
	asked := ask(t, h, "POST", chatPath, chatOf("write"), keyed)
	if text, _ := asked.content(t).(string); !strings.Contains(text, "approve") || !strings.Contains(text, "The next message") {
		t.Errorf("got %s", asked.Body)
	}
	t.Log(asked.Body)
	settles := header{"Agent-Session": "s", "Idempotency-Key": "k2"}
	a := ask(t, h, "POST", chatPath, chatOf("approve"), settles)
	if text, _ := a.content(t).(string); !strings.HasPrefix(text, "done: ") {
		t.Errorf("got %s", a.Body)
	}
	if again := ask(t, h, "POST", chatPath, chatOf("approve"), settles); again.Body != a.Body {
		t.Errorf("the answer again: got %s", again.Body)
	}
	if again := ask(t, h, "POST", chatPath, chatOf("write"), keyed); again.Body != asked.Body {
		t.Errorf("the question again: got %s, first %s", again.Body, asked.Body)
	}
	a = ask(t, h, "POST", chatPath, chatOf("colour"), in)
	t.Log(a.Body)
	if text, _ := a.content(t).(string); !strings.Contains(text, "Which colour?") || !strings.Contains(text, "Red") {
		t.Errorf("got %s", a.Body)
	}
	if a = ask(t, h, "POST", chatPath, chatOf("perhaps"), in); a.Status != 200 {
		t.Errorf("got %s", a.Body)
	}
	t.Log(a.Body)
	if a = ask(t, h, "POST", chatPath, chatOf("Blue"), in); a.content(t) != "You like Blue." {
		t.Errorf("got %s", a.Body)
	}
}

// Of a name that an object has twice the last value counts, and nothing of the first.
func TestNamesThatComeTwice(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, "")
	for _, body := range []string{
		`{"model":"ana","messages":[{"role":"user","content":"a"}],"messages":[{"role":"user","content":[{"type":"text","text":"b"}]}]}`,
		`{"model":"ana","messages":[{"role":"user","content":"a","content":[{"type":"text","text":"b"}]}]}`,
		`{"model":"ana","messages":[{"role":"user","content":[{"type":"text","text":"a"}],"content":"b"}]}`,
	} {
		if a := ask(t, h, "POST", chatPath, body, nil); a.content(t) != "ana: b" {
			t.Errorf("%s: got %s", body, a.Body)
		}
	}
	a := ask(t, h, "POST", "/v1/responses", `{"model":"ana","input":"a","input":[{"role":"user","content":"b"}]}`, nil)
	if a.get(t, "output", 0, "content", 0, "text") != "ana: b" {
		t.Errorf("got %s", a.Body)
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, "")
	for name, tt := range map[string]struct {
		body   any
		status int
		param  any
		code   string
	}{
		"no JSON":         {`{`, 400, nil, "validation"},
		"no UTF-8":        {"{\"model\":\"\xff\"}", 400, nil, "validation"},
		"deep":            {strings.Repeat("[", 100_000), 400, nil, "validation"},
		"another type":    {`{"model":7}`, 400, "model", "validation"},
		"no messages":     {object{"model": "ana"}, 400, "messages", "validation"},
		"no model":        {object{"messages": []object{says("user", "x")}}, 400, "model", "validation"},
		"unknown model":   {object{"model": "gpt-5", "messages": []object{says("user", "x")}}, 404, "model", "validation"},
		"excluded model":  {object{"model": "shy", "messages": []object{says("user", "x")}}, 404, "model", "validation"},
		"a role":          {object{"model": "ana", "messages": []object{says("king", "x")}}, 400, "messages[0].role", "validation"},
		"an answer last":  {object{"model": "ana", "messages": []object{says("user", "x"), says("assistant", "y")}}, 400, "messages", "validation"},
		"empty":           {chatOf(" "), 400, "messages", "validation"},
		"two":             {object{"model": "ana", "n": 2, "messages": []object{says("user", "x")}}, 400, "n", "validation"},
		"a voice":         {object{"model": "ana", "modalities": []string{"text", "audio"}, "messages": []object{says("user", "x")}}, 400, "modalities", "validation"},
		"a sound":         {object{"model": "ana", "messages": []object{{"role": "user", "content": []object{{"type": "input_audio"}}}}}, 400, "messages[0].content", "validation"},
		"a file's path":   {object{"model": "ana", "messages": []object{{"role": "user", "content": []object{{"type": "image_url", "image_url": object{"url": "file:///etc/passwd"}}}}}}, 400, "messages[0].content", "validation"},
		"a model's fault": {chatOf("broken"), 400, nil, "validation"},
		"NUL":             {chatOf("a\x00b"), 400, nil, "validation"},
		"a long user":     {object{"model": "ana", "user": strings.Repeat("x", 257), "messages": []object{says("user", "x")}}, 400, "user", "validation"},
		"NUL in a user":   {object{"model": "ana", "user": "a\x00b", "messages": []object{says("user", "x")}}, 400, "user", "validation"},
	} {
		for _, stream := range []bool{false, true} {
			if o, ok := tt.body.(object); ok {
				o["stream"] = stream
			}
			a := ask(t, h, "POST", chatPath, tt.body, nil)
			if a.Status != tt.status || a.get(t, "error", "param") != tt.param || a.get(t, "error", "code") != tt.code {
				t.Errorf("%s: got %d %s", name, a.Status, a.Body)
			}
		}
	}
	for _, kept := range []string{"conversation", "prompt"} {
		for _, value := range []any{"id", object{"id": "id"}} {
			if a := ask(t, h, "POST", "/v1/responses", object{"model": "ana", "input": "x", kept: value}, nil); a.Status != 400 || a.get(t, "error", "param") != kept {
				t.Errorf("%s %v: got %d %s", kept, value, a.Status, a.Body)
			}
		}
	}
	first := ask(t, h, "POST", "/v1/responses", object{"model": "ana", "input": "x", "conversation": nil, "prompt": nil}, nil)
	for path, body := range map[string]object{
		chatPath: {"messages": []object{says("user", "x")}}, "/v1/responses": {"input": "x", "previous_response_id": first.get(t, "id")},
	} {
		if a := ask(t, h, "POST", path, body, nil); a.Status != 400 || !strings.Contains(a.Body, "model is missing") {
			t.Errorf("%s without a model: got %d %s", path, a.Status, a.Body)
		}
	}
	if a := ask(t, h, "POST", chatPath, "[]", nil); a.get(t, "error", "message") != "the body cannot be of the type array" {
		t.Errorf("a list: got %+v", a)
	}
	if a := ask(t, h, "POST", chatPath, strings.Repeat(" ", 33<<20), nil); a.Status != 413 {
		t.Errorf("a large body: got %+v", a)
	}
	if a := ask(t, h, "GET", "/v1/embeddings", nil, nil); a.Status != 404 || a.get(t, "error", "type") != "invalid_request_error" {
		t.Errorf("another path: got %+v", a)
	}
}

func TestResponses(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, "")
	first := ask(t, h, "POST", "/v1/responses", object{"model": "ana", "input": "hi"}, nil)
	text := func(a answer) any { return a.get(t, "output", 0, "content", 0, "text") }
	if first.Status != 200 || text(first) != "ana: hi" || first.get(t, "status") != "completed" {
		t.Fatalf("got %+v", first)
	}
	id, _ := first.get(t, "id").(string)
	second := ask(t, h, "POST", "/v1/responses", object{"model": "ana", "input": "more", "previous_response_id": id}, nil)
	if text(second) != "ana: more" || second.Header.Get("Agent-Session") != first.Header.Get("Agent-Session") {
		t.Errorf("got %+v", second)
	}
	if got := ask(t, h, "GET", "/v1/responses/"+id, nil, nil); text(got) != "ana: hi" || got.get(t, "id") != id || got.get(t, "created_at") != first.get(t, "created_at") {
		t.Errorf("got %+v", got)
	}
	next, _ := second.get(t, "id").(string)
	if got := ask(t, h, "GET", "/v1/responses/"+next, nil, nil); text(got) != "ana: more" || got.get(t, "previous_response_id") != id {
		t.Errorf("got %+v", got)
	}
	for _, id := range []string{"resp_x", "resp_" + strings.Repeat("A", 500), "x", "resp_WyJhbmEiLCJhIiwiYiIsMSwwXQ"} {
		a := ask(t, h, "POST", "/v1/responses", object{"model": "ana", "input": "more", "previous_response_id": id}, nil)
		if a.Status != 404 || a.get(t, "error", "param") != "previous_response_id" {
			t.Errorf("%s: got %+v", id, a)
		}
		if a := ask(t, h, "GET", "/v1/responses/"+id, nil, nil); a.Status != 404 {
			t.Errorf("%s: got %+v", id, a)
		}
	}
	s := ask(t, h, "POST", "/v1/responses", object{"model": "ana", "stream": true, "input": []object{{"role": "user", "content": []object{{"type": "input_text", "text": "story"}}}}}, nil)
	said, types := "", []any{}
	for i, e := range s.events() {
		if e["sequence_number"] != float64(i) {
			t.Errorf("event %d: got %v", i, e)
		}
		if e["type"] == "response.output_text.delta" {
			piece, _ := e["delta"].(string)
			said += piece
			continue
		}
		types = append(types, e["type"])
	}
	want := []any{
		"response.created", "response.in_progress", "response.output_item.added", "response.content_part.added",
		"response.output_text.done", "response.content_part.done", "response.output_item.done", "response.completed",
	}
	if diff := cmp.Diff(want, types); diff != "" || said != "Once upon a time." {
		t.Errorf("said %q, events (-want +got):\n%s", said, diff)
	}
}
