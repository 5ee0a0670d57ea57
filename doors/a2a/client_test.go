package a2a_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"agenthost/bus/bustest"
	"agenthost/doors/doorstest"
)

func TestMain(m *testing.M) { doorstest.Main(m) }

// A client speaks the protocol from the other side.
type client struct {
	testing.TB
	url   string // of the agent
	token string
}

func start(t testing.TB, more string) (*doorstest.Host, client) {
	t.Helper()
	h := doorstest.Start(t, more)
	return h, client{t, "http://" + h.HTTP() + "/a2a/ana", ""}
}

// A task is what the protocol says of one.
type task struct {
	ID        string     `json:"id"`
	ContextID string     `json:"contextId"`
	Status    status     `json:"status"`
	Artifacts []artifact `json:"artifacts"`
	History   []message  `json:"history"`
}

type status struct {
	State     string  `json:"state"`
	Message   message `json:"message"`
	Timestamp string  `json:"timestamp"`
}

type artifact struct {
	ID    string `json:"artifactId"`
	Parts []part `json:"parts"`
}

type message struct {
	ID    string `json:"messageId"`
	Role  string `json:"role"`
	Parts []part `json:"parts"`
}

type part struct {
	Text      string `json:"text"`
	Raw       []byte `json:"raw"`
	URL       string `json:"url"`
	Filename  string `json:"filename"`
	MediaType string `json:"mediaType"`
}

// An event is one of a stream.
type event struct {
	Task     *task `json:"task"`
	Status   *struct{ Status status }
	Artifact *struct {
		Append, LastChunk bool
		Artifact          artifact
	}
}

// UnmarshalJSON reads the names of the protocol.
func (e *event) UnmarshalJSON(data []byte) error {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	for name, to := range map[string]any{"task": &e.Task, "statusUpdate": &e.Status, "artifactUpdate": &e.Artifact} {
		if raw[name] == nil {
			continue
		}
		if err := json.Unmarshal(raw[name], to); err != nil {
			return err
		}
	}
	return nil
}

type reply struct {
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
	}
}

// An answer is one that has been read.
type answer struct {
	StatusCode int
	Header     http.Header
	Body       []byte
}

func (c client) post(body string, header ...string) answer {
	c.Helper()
	res := c.open(body, header...)
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		c.Fatal(err)
	}
	return answer{res.StatusCode, res.Header, data}
}

// open posts, and leaves the answer to be read.
func (c client) open(body string, header ...string) *http.Response {
	c.Helper()
	r, err := http.NewRequestWithContext(bustest.Context(c), http.MethodPost, c.url, strings.NewReader(body))
	if err != nil {
		c.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		c.Fatal(err)
	}
	return res
}

func (c client) request(method string, params any) string {
	c.Helper()
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 7, "method": method, "params": params})
	if err != nil {
		c.Fatal(err)
	}
	return string(body)
}

// call calls a method, and returns its error, if any.
func (c client) call(method string, params, result any) (code int, why string) {
	c.Helper()
	res := c.post(c.request(method, params), "A2A-Version", "1.0")
	if res.StatusCode != http.StatusOK {
		c.Fatalf("%s: %d: %s", method, res.StatusCode, res.Body)
	}
	var r reply
	if err := json.Unmarshal(res.Body, &r); err != nil {
		c.Fatalf("%s: %v", res.Body, err)
	}
	if r.Error != nil {
		return r.Error.Code, r.Error.Message
	}
	if err := json.Unmarshal(r.Result, result); err != nil {
		c.Fatalf("%s: %v", r.Result, err)
	}
	return 0, ""
}

type object = map[string]any

// said is a message.
func said(id, text string, more ...any) object {
	m := object{"messageId": id, "role": "ROLE_USER", "parts": []object{{"text": text}}}
	for i := 0; i < len(more); i += 2 {
		m[more[i].(string)] = more[i+1]
	}
	return m
}

// send sends a message and wants a task.
func (c client) send(m object, config ...any) task {
	c.Helper()
	var got struct{ Task task }
	cfg := object{}
	for i := 0; i < len(config); i += 2 {
		cfg[config[i].(string)] = config[i+1]
	}
	if code, why := c.call("SendMessage", object{"message": m, "configuration": cfg}, &got); code != 0 {
		c.Fatalf("%d %s", code, why)
	}
	return got.Task
}

func (c client) get(id string) (t task) {
	c.Helper()
	if code, why := c.call("GetTask", object{"id": id}, &t); code != 0 {
		c.Fatalf("%d %s", code, why)
	}
	return t
}

// stream calls a method that is answered with events, and returns how to get the next.
func (c client) stream(method string, params any) (next func() (e event, ok bool)) {
	c.Helper()
	res := c.open(c.request(method, params), "A2A-Version", "1.0")
	c.Cleanup(func() { _ = res.Body.Close() })
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 16<<20)
	return func() (e event, ok bool) {
		c.Helper()
		for lines.Scan() {
			data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
			if !ok {
				continue
			}
			var r reply
			if err := json.Unmarshal(data, &r); err != nil || r.Error != nil {
				c.Fatalf("%s: %v", data, err)
			}
			if err := json.Unmarshal(r.Result, &e); err != nil {
				c.Fatalf("%s: %v", r.Result, err)
			}
			return e, true
		}
		if lines.Err() != nil {
			c.Fatal(lines.Err())
		}
		return event{}, false
	}
}

// text is that of the artifacts.
func (t task) text() string {
	text := ""
	for _, a := range t.Artifacts {
		for _, p := range a.Parts {
			text += p.Text
		}
	}
	return text
}

// gathered is what the events of a stream make: the states, and the text of the reply.
func gathered(next func() (event, bool)) (states []string, text string, first task) {
	for {
		e, ok := next()
		switch {
		case !ok:
			return states, text, first
		case e.Task != nil:
			first = *e.Task
			states = append(states, first.Status.State)
		case e.Status != nil:
			states = append(states, e.Status.Status.State)
		case e.Artifact != nil:
			if !e.Artifact.Append {
				text = ""
			}
			for _, p := range e.Artifact.Artifact.Parts {
				text += p.Text
			}
		}
	}
}
