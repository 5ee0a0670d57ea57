package web_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
	"testing"

	"agenthost/internal/waittest"
)

// A visitor is a browser of the chat page.
type visitor struct {
	t      testing.TB
	base   string
	cookie string
	header http.Header
}

// visit opens the page as a new visitor.
func visit(t testing.TB, base string) *visitor {
	t.Helper()
	v := &visitor{t: t, base: base, header: http.Header{}}
	res := v.do("GET", "/chat/api/me", nil, nil)
	if cs := res.cookies; len(cs) > 0 {
		v.cookie = cs[0].Name + "=" + cs[0].Value
	}
	return v
}

// A reply is what came back.
type reply struct {
	StatusCode int
	Header     http.Header
	Body       *bytes.Buffer
	cookies    []*http.Cookie
}

func (v *visitor) do(method, path string, body io.Reader, header http.Header) reply {
	v.t.Helper()
	res := v.open(method, path, body, header)
	defer func() { _ = res.Body.Close() }()
	r := reply{res.StatusCode, res.Header, &bytes.Buffer{}, res.Cookies()}
	if _, err := r.Body.ReadFrom(res.Body); err != nil {
		v.t.Fatal(err)
	}
	return r
}

// open sends a request whose answer may go on.
func (v *visitor) open(method, path string, body io.Reader, header http.Header) *http.Response {
	v.t.Helper()
	req, err := http.NewRequestWithContext(v.t.Context(), method, v.base+path, body)
	if err != nil {
		v.t.Fatal(err)
	}
	for _, h := range []http.Header{v.header, header} {
		maps.Copy(req.Header, h)
	}
	if v.cookie != "" {
		req.Header.Set("Cookie", v.cookie)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		v.t.Fatal(err)
	}
	return res
}

// read answers with the status and the JSON of a request.
func (v *visitor) read(path string, into any) int {
	v.t.Helper()
	res := v.do("GET", path, nil, nil)
	_ = json.NewDecoder(res.Body).Decode(into) // a refusal is something else
	return res.StatusCode
}

type fields = map[string]any

// post sends a message and answers with the status.
func (v *visitor) post(m fields) reply {
	v.t.Helper()
	body, err := json.Marshal(m)
	if err != nil {
		v.t.Fatal(err)
	}
	return v.do("POST", "/chat/api/messages", bytes.NewReader(body), http.Header{"Content-Type": {"application/json"}})
}

func message(id, text string) fields {
	return fields{"id": id, "agent": "ana", "conversation": "main", "text": text}
}

// say posts a message that has to be taken.
func (v *visitor) say(id, text string) {
	v.t.Helper()
	if res := v.post(message(id, text)); res.StatusCode != http.StatusAccepted {
		body := res.Body.String()
		v.t.Fatalf("say %q: got %d %s", text, res.StatusCode, body)
	}
}

type file struct{ name, kind, content string }

func (v *visitor) upload(m fields, files ...file) reply {
	v.t.Helper()
	body := &bytes.Buffer{}
	form := multipart.NewWriter(body)
	data, _ := json.Marshal(m)
	_ = form.WriteField("message", string(data))
	for _, f := range files {
		h := textproto.MIMEHeader{"Content-Type": {f.kind}}
		h.Set("Content-Disposition", `form-data; name="file"; filename="`+f.name+`"`)
		part, err := form.CreatePart(h)
		if err != nil {
			v.t.Fatal(err)
		}
		_, _ = io.WriteString(part, f.content)
	}
	_ = form.Close()
	return v.do("POST", "/chat/api/messages", body, http.Header{"Content-Type": {form.FormDataContentType()}})
}

type item struct {
	ID, Agent, Conversation, Kind, Text, Call, Whole, Answer, Code string
	Mine, Final, Closed                                            bool
	InReplyTo                                                      []string `json:"in_reply_to"`
	Options                                                        []string
	Files                                                          []struct {
		Name, MIME, URL string
		Image           bool
	}
}

type history struct {
	Items   []item
	After   uint64
	Running bool
	More    bool
}

func (v *visitor) history(conversation string) (h history) {
	v.t.Helper()
	if code := v.read("/chat/api/history?agent=ana&conversation="+conversation, &h); code != http.StatusOK {
		v.t.Fatalf("history: got %d", code)
	}
	return h
}

// answered waits until a conversation has n lines of the agent.
func (v *visitor) answered(conversation string, n int) []item {
	v.t.Helper()
	var found history
	waittest.Until(v.t, fmt.Sprint(n, " answers"), func() bool {
		found = v.history(conversation)
		count := 0
		for _, it := range found.Items {
			if !it.Mine {
				count++
			}
		}
		return count == n
	})
	return found.Items
}

// An event of the stream.
type event struct{ name, id, data string }

func (e event) item() (it item) {
	_ = json.Unmarshal([]byte(e.data), &it)
	return it
}

// events follows a conversation; next waits for the next event of a name.
func (v *visitor) events(query url.Values, header http.Header) (next func(name string) event, s *eventStream) {
	v.t.Helper()
	res := v.open("GET", "/chat/api/events?"+query.Encode(), nil, header) //nolint:bodyclose // end closes it
	s = &eventStream{res.StatusCode, func() { _ = res.Body.Close() }}
	v.t.Cleanup(s.end)
	if res.StatusCode != http.StatusOK {
		return nil, s
	}
	all := make(chan event, 1000)
	go func() {
		defer close(all)
		e := event{}
		for s := bufio.NewScanner(res.Body); s.Scan(); {
			field, value, _ := strings.Cut(s.Text(), ": ")
			switch field {
			case "":
				if e.name != "" {
					all <- e
				}
				e = event{}
			case "id":
				e.id = value
			case "event":
				e.name = value
			case "data":
				e.data = value
			}
		}
	}()
	return func(name string) event {
		v.t.Helper()
		for {
			if e := waittest.For(v.t, "an event "+name, all); e.name == name || e.name == "" {
				return e
			}
		}
	}, s
}

// An eventStream is the answer with events, until end is called.
type eventStream struct {
	status int
	end    func()
}

func place(conversation string, after uint64) url.Values {
	return url.Values{"agent": {"ana"}, "conversation": {conversation}, "after": {fmt.Sprint(after)}}
}
