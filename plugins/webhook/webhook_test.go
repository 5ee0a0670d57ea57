package webhook_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/filestore"
	"agenthost/bus/publishing"
	"agenthost/bus/records"
	"agenthost/internal/waittest"
	"agenthost/plugins"
	"agenthost/plugins/plugintest"
	"agenthost/plugins/settings"
	"agenthost/plugins/webhook"

	"github.com/nats-io/nats.go"
)

const secret = "whsec_c2VjcmV0IG9mIHRoZSBzaG9w"

var key = []byte("secret of the shop")

// A shop is a webhook with a courier on a NATS of its own, and its sender.
type shop struct {
	testing.TB
	bus     *bus.Bus
	hook    *httptest.Server
	courier *plugins.Courier
}

func open(t *testing.T, cfg settings.Webhook) *shop {
	t.Helper()
	s := &shop{TB: t, bus: bustest.Open(t)}
	bustest.Provision(t, s.bus.JS)
	s.serve(cfg)
	return s
}

// serve serves another host's share of the account.
func (s *shop) serve(cfg settings.Webhook) {
	s.Helper()
	publisher, err := publishing.New(s.bus.NC, s.bus.Log)
	if err != nil {
		s.Fatal(err)
	}
	background(s, publisher.Run)
	c, err := webhook.New(cfg)
	if err != nil {
		s.Fatal(err)
	}
	s.courier = plugins.New(plugins.Account{Channel: "webhook", Instance: "shop", Settings: cfg.Account}, c, plugins.Parts{
		NC: s.bus.NC, JS: s.bus.JS, Publisher: publisher, Files: filestore.New(s.bus.JS), Reader: records.NewReader(s.bus.JS),
		Host: "h", Log: bustest.Log(s), Agents: func() []string { return []string{"ana"} },
	})
	background(s, s.courier.Run)
	s.hook = httptest.NewServer(c.Handler(s.courier.Inbox()))
	s.Cleanup(s.hook.Close)
	bustest.Eventually(s, "the account is served", func() bool { return s.courier.Status().State != plugins.StateStarting })
}

func background(t testing.TB, run func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = run(ctx) // it ends with ctx
	}()
	t.Cleanup(func() { cancel(); <-done })
}

func signature(id string, at time.Time, body string) string {
	m := hmac.New(sha256.New, key)
	fmt.Fprintf(m, "%s.%d.%s", id, at.Unix(), body)
	return "v1," + base64.StdEncoding.EncodeToString(m.Sum(nil))
}

func signed(id string, at time.Time, body string) http.Header {
	return header("webhook-id", id, "webhook-timestamp", strconv.FormatInt(at.Unix(), 10), "webhook-signature", signature(id, at, body))
}

func header(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Set(pairs[i], pairs[i+1])
	}
	return h
}

// post sends a request and returns the status and the body of the answer.
func (s *shop) post(h http.Header, body string) (int, string) {
	s.Helper()
	req, err := http.NewRequestWithContext(s.Context(), http.MethodPost, s.hook.URL+"/hooks/shop", strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	req.Header = h
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		s.Fatal(err)
	}
	if resp.StatusCode == http.StatusServiceUnavailable && resp.Header.Get("Retry-After") == "" {
		s.Error("503 without Retry-After")
	}
	return resp.StatusCode, strings.TrimSpace(string(answer))
}

// stored are the messages of the account.
func (s *shop) stored() (list []string) {
	s.Helper()
	stream, err := s.bus.JS.Stream(s.Context(), bus.InboundStream)
	if err != nil {
		s.Fatal(err)
	}
	for seq := uint64(1); ; seq++ {
		m, err := stream.GetMsg(s.Context(), seq)
		if err != nil {
			return list
		}
		if m.Subject != "plugin.inbound.webhook.shop" {
			s.Errorf("a message on %s", m.Subject)
		}
		list = append(list, string(m.Data))
	}
}

func TestWhoIsRefused(t *testing.T) {
	t.Parallel()
	const body = `{"from":"ana","text":"Hi"}`
	by := func(id string, age time.Duration, body string) func(time.Time) http.Header {
		return func(now time.Time) http.Header { return signed(id, now.Add(-age), body) }
	}
	with := func(signatures func(own string) []string) func(time.Time) http.Header {
		return func(now time.Time) http.Header {
			h := signed("m1", now, body)
			h.Del("webhook-signature")
			if list := signatures(signature("m1", now, body)); list != nil {
				h.Set("webhook-signature", strings.Join(list, " "))
			}
			return h
		}
	}
	tests := map[string]struct {
		header func(now time.Time) http.Header
		want   int
		says   string
	}{
		"signed":                    {by("m1", 0, body), http.StatusAccepted, ""},
		"almost too old":            {by("m1", 4*time.Minute, body), http.StatusAccepted, ""},
		"almost too new":            {by("m1", -295*time.Second, body), http.StatusAccepted, ""},
		"one of several signatures": {with(func(own string) []string { return []string{"v1,AAAA", "v1,!", own} }), http.StatusAccepted, ""},
		"unsigned":                  {func(time.Time) http.Header { return http.Header{} }, http.StatusUnauthorized, "the header webhook-id is missing"},
		"no signature":              {with(func(string) []string { return nil }), http.StatusUnauthorized, "the header webhook-signature is missing"},
		"no id":                     {by("", 0, body), http.StatusUnauthorized, "the header webhook-id is missing"},
		"no time":                   {func(now time.Time) http.Header { h := signed("m1", now, body); h.Del("webhook-timestamp"); return h }, http.StatusUnauthorized, "the header webhook-timestamp is missing"},
		"a time in words": {func(now time.Time) http.Header {
			h := signed("m1", now, body)
			h.Set("webhook-timestamp", now.Format(time.RFC3339))
			return h
		}, http.StatusUnauthorized, "webhook-timestamp is not a Unix time in seconds"},
		"stale":                       {by("m1", 301*time.Second, body), http.StatusUnauthorized, "webhook-timestamp is not within five minutes of now"},
		"of the future":               {by("m1", -6*time.Minute, body), http.StatusUnauthorized, "webhook-timestamp is not within five minutes of now"},
		"another body":                {by("m1", 0, body+" "), http.StatusUnauthorized, "the signature does not match"},
		"another version":             {with(func(own string) []string { return []string{"v1,AAAA", "v2," + strings.TrimPrefix(own, "v1,")} }), http.StatusUnauthorized, "the signature does not match"},
		"the token of another scheme": {func(time.Time) http.Header { return header("authorization", "Bearer "+secret) }, http.StatusUnauthorized, "the header webhook-id is missing"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, settings.Webhook{Secret: secret})
			code, answer := s.post(tt.header(time.Now()), body)
			if code != tt.want {
				t.Fatalf("got %d %s, want %d", code, answer, tt.want)
			}
			if !strings.Contains(answer, tt.says) {
				t.Errorf("answered %s, want %q in it", answer, tt.says)
			}
			if taken := len(s.stored()) == 1; taken != (tt.want == http.StatusAccepted) {
				t.Errorf("stored: %v", s.stored())
			}
			if tt.want == http.StatusAccepted && (answer != `{"id":"m1"}` || s.stored()[0] != `{"from":"ana","id":"m1","text":"Hi"}`) {
				t.Errorf("answered %s and stored %s", answer, s.stored())
			}
		})
	}
}

func TestOtherSchemes(t *testing.T) {
	t.Parallel()
	const body = `{"action":"opened","issue":{"title":"It <breaks>","number":12345678901234567890},"labels":[{"name":"bug"}]}`
	m := hmac.New(sha256.New, []byte("plain"))
	_, _ = io.WriteString(m, body)
	gitHub := header("X-GitHub-Delivery", "d-1", "X-Hub-Signature-256", "sha256="+hex.EncodeToString(m.Sum(nil)))
	wrong := gitHub.Clone()
	wrong.Set("X-Hub-Signature-256", "sha256="+strings.Repeat("0", 64))
	text := "${body.action}: ${body.issue.title} (${body.issue.number}) ${body.labels.0.name}${body.none.x} $${kept} ${body.labels}"
	const want = `"id":"d-1","text":"opened: It \u003cbreaks\u003e (12345678901234567890) bug ${kept} [{\"name\":\"bug\"}]"`
	tests := map[string]struct {
		scheme string
		header http.Header
		code   int
	}{
		"github":           {"github", gitHub, http.StatusAccepted},
		"github, unsigned": {"github", header("X-GitHub-Delivery", "d-1"), http.StatusUnauthorized},
		"github, wrong":    {"github", wrong, http.StatusUnauthorized},
		"token":            {"token", header("Authorization", "Bearer plain", "Webhook-Id", "d-1"), http.StatusAccepted},
		"token, bearer":    {"token", header("Authorization", "bearer plain", "Webhook-Id", "d-1"), http.StatusAccepted},
		"token, wrong":     {"token", header("Authorization", "Bearer plainer"), http.StatusUnauthorized},
		"token, basic":     {"token", header("Authorization", "Basic plain"), http.StatusUnauthorized},
		"token, none":      {"token", http.Header{}, http.StatusUnauthorized},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := open(t, settings.Webhook{Secret: "plain", Scheme: tt.scheme, Text: text})
			code, answer := s.post(tt.header, body)
			if code != tt.code {
				t.Fatalf("got %d %s, want %d", code, answer, tt.code)
			}
			if all := s.stored(); code == http.StatusAccepted && (len(all) != 1 || !strings.Contains(all[0], want)) {
				t.Errorf("stored %s, want %s", all, want)
			}
		})
	}
}

// What GitHub sends first, to see whether something answers, is no message. As a form, which is
// what it sends by default, its JSON cannot be read.
func TestGitHubPingAndForm(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		event, kind, body string
		code              int
		answer            string
		stored            int
	}{
		"ping":         {"ping", "application/json", `{"zen":"Keep it simple."}`, http.StatusOK, `"ping"`, 0},
		"form":         {"issues", "application/x-www-form-urlencoded", "payload=%7B%22action%22%3A%22opened%22%7D", http.StatusBadRequest, "application/json", 0},
		"ping, a form": {"ping", "application/x-www-form-urlencoded", "payload=%7B%7D", http.StatusBadRequest, "application/json", 0},
		"issues":       {"issues", "application/json", `{"action":"opened"}`, http.StatusAccepted, `"id":"d-1"`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, settings.Webhook{Secret: "plain", Scheme: "github", Text: "${body.action}"})
			m := hmac.New(sha256.New, []byte("plain"))
			_, _ = io.WriteString(m, tt.body)
			code, answer := s.post(header("X-GitHub-Delivery", "d-1", "X-GitHub-Event", tt.event, "Content-Type", tt.kind,
				"X-Hub-Signature-256", "sha256="+hex.EncodeToString(m.Sum(nil))), tt.body)
			if n := len(s.stored()); code != tt.code || !strings.Contains(answer, tt.answer) || n != tt.stored {
				t.Errorf("got %d %s and %d messages, want %d, %s and %d", code, answer, n, tt.code, tt.answer, tt.stored)
			}
		})
	}
}

func TestBodies(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		body string
		code int
		want string // of what is stored
		text string // of the settings
	}{
		"text":         {"Hello there", 202, `"text":"Hello there"`, ""},
		"unknown keys": {`{"text":"x","own":[1]}`, 202, `"own":[1]`, ""},
		"empty":        {"  ", 400, "", ""},
		"no text":      {`{"from":"ana"}`, 400, "", ""},
		"not UTF-8":    {"\xff\xfe", 400, "", ""},
		"a list":       {`["a"]`, 202, `"text":"[\"a\"]"`, ""},
		"half of it":   {`{"from":`, 400, "", ""},
		"more than it": {` {"text":"a"} trailing`, 400, "", ""},
		"id, a number": {`{"id":5,"text":"a"}`, 400, "", ""},
		"long chat":    {`{"chat":"` + strings.Repeat("x", 300) + `","group":true,"text":"a"}`, 400, "", ""},
		"longest id":   {`{"text":"x","id":"` + strings.Repeat("x", 256) + `"}`, 202, `"text":"x"`, ""},
		"too long id":  {`{"text":"x","id":"` + strings.Repeat("x", 257) + `"}`, 400, "", ""},
		"too large":    {`{"text":"` + strings.Repeat("x", 2<<10) + `"}`, 413, "", ""},
		"at a path":    {`{"a":"x"}`, 202, `"text":"x "`, "${body.a} ${body.b}"},
		"at no path":   {`{"c":"x"}`, 400, "", "${body.a} ${body.b}"},
		"form":         {"a=x", 400, "", "${body.a} ${body.b}"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, settings.Webhook{Secret: "x", Scheme: "token", MaxBody: 2 << 10, Text: tt.text})
			code, answer := s.post(header("Authorization", "Bearer x"), tt.body)
			all := strings.Join(s.stored(), " ")
			if code != tt.code || !strings.Contains(all, tt.want) || tt.want == "" && all != "" {
				t.Errorf("got %d %s and stored %.300s, want %d and %s", code, answer, all, tt.code, tt.want)
			}
		})
	}
}

// The same id with the same body is the same message, with another one it is an
// attack; other hosts know that, too, whichever of the two they get first.
func TestTheSameIDAgain(t *testing.T) {
	t.Parallel()
	cfg := settings.Webhook{Secret: "x", Scheme: "token"}
	s := open(t, cfg)
	h := header("Authorization", "Bearer x", "Webhook-Id", "m1")
	want := map[string]int{`{"text":"a"}`: http.StatusAccepted, `{"text":"b"}`: http.StatusUnauthorized}
	for _, bodies := range [][]string{{`{"text":"a"}`, `{"text":"b"}`}, {`{"text":"b"}`, `{"text":"a"}`}, {`{"text":"a"}`, `{"text":"b"}`}} { // of a host each
		for range 2 {
			for _, body := range bodies {
				if code, answer := s.post(h, body); code != want[body] {
					t.Errorf("%s: got %d %s, want %d", body, code, answer, want[body])
				}
			}
		}
		s.serve(cfg)
	}
	if n := len(s.stored()); n != 1 {
		t.Errorf("%d messages are stored, want 1", n)
	}
}

// Of bodies that come at once under one id, to any hosts, one is taken.
func TestBodiesAtOnce(t *testing.T) {
	t.Parallel()
	cfg := settings.Webhook{Secret: "x", Scheme: "token"}
	s := open(t, cfg)
	hosts := []*httptest.Server{s.hook}
	for range 2 {
		s.serve(cfg)
		hosts = append(hosts, s.hook)
	}
	for id := range 20 {
		h := header("Authorization", "Bearer x", "Webhook-Id", fmt.Sprint(id))
		var group sync.WaitGroup
		var taken atomic.Int32
		for i := range 9 {
			sender := &shop{TB: t, hook: hosts[i%len(hosts)]}
			group.Go(func() {
				if code, _ := sender.post(h, fmt.Sprintf(`{"text":"%d"}`, i)); code == http.StatusAccepted {
					taken.Add(1)
				}
			})
		}
		group.Wait()
		if n := taken.Load(); n != 1 {
			t.Errorf("id %d: %d bodies were taken, want 1", id, n)
		}
	}
	if n := len(s.stored()); n != 20 {
		t.Errorf("%d messages are stored, want 20", n)
	}
}

// A reply from before the body of an id was noted is to another one, and is not given.
func TestReplyToAnEarlierBody(t *testing.T) {
	t.Parallel()
	s := open(t, settings.Webhook{Secret: "x", Scheme: "token", Reply: "response"})
	answered, err := s.bus.NC.Subscribe("plugin.inbound.webhook.shop", func(m *nats.Msg) {
		out := bus.Outbound{ID: "r1", Agent: "ana", To: "anonymous", Text: "to an earlier one", InReplyTo: "m1", Final: true, Kind: bus.KindReply, SentAt: time.Now().Add(-80 * time.Hour)}
		data, _ := json.Marshal(out)
		_ = s.bus.NC.Publish("plugin.outbound.webhook.shop", data)
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answered.Unsubscribe() }()
	for range 2 {
		code, answer := s.post(header("Authorization", "Bearer x", "Webhook-Id", "m1"), "a later one")
		if code != http.StatusUnauthorized || !strings.Contains(answer, "send this one under a new id") {
			t.Errorf("got %d %s, want 401", code, answer)
		}
	}
}

// An id belongs to its body once that is noted. A request that could not be noted is
// noted when it comes again.
func TestIDThatCouldNotBeNoted(t *testing.T) {
	t.Parallel()
	s := open(t, settings.Webhook{Secret: secret})
	const body, other = `{"from":"ana","text":"Hi"}`, `{"from":"ana","text":"Ho"}`
	at := time.Now()
	if err := s.bus.JS.DeleteKeyValue(t.Context(), bus.ChannelsBucket); err != nil {
		t.Fatal(err)
	}
	if code, answer := s.post(signed("m1", at, body), body); code != http.StatusServiceUnavailable {
		t.Fatalf("without notes: got %d %s, want 503", code, answer)
	}
	bustest.Provision(t, s.bus.JS)
	if code, answer := s.post(signed("m1", at, body), body); code != http.StatusAccepted {
		t.Fatalf("again: got %d %s, want 202", code, answer)
	}
	s.serve(settings.Webhook{Secret: secret})
	if code, answer := s.post(signed("m1", at, other), other); code != http.StatusUnauthorized {
		t.Errorf("another body on another host: got %d %s, want 401", code, answer)
	}
}

func TestMethodAndLength(t *testing.T) {
	t.Parallel()
	s := open(t, settings.Webhook{Secret: "x"})
	resp, err := http.Get(s.hook.URL)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusMethodNotAllowed || resp.Header.Get("Allow") != "POST" {
		t.Errorf("GET: got %d", resp.StatusCode)
	}
	conn := s.dial("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10485760\r\n\r\n") // and nothing of the body
	defer func() { _ = conn.Close() }()
	if got := firstLine(t, conn); !strings.Contains(got, "413") {
		t.Errorf("10 MB: got %q, want 413 before the body", got)
	}
}

func (s *shop) dial(request string) net.Conn {
	s.Helper()
	conn, err := net.Dial("tcp", s.hook.Listener.Addr().String())
	if err != nil {
		s.Fatal(err)
	}
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := io.WriteString(conn, request); err != nil {
		s.Fatal(err)
	}
	return conn
}

func firstLine(t *testing.T, conn net.Conn) string {
	t.Helper()
	buf := make([]byte, 200)
	n, err := conn.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(buf[:n]), "\r\n")
	return line
}

func TestWithoutNATS(t *testing.T) {
	t.Parallel()
	s := open(t, settings.Webhook{Secret: "x", Scheme: "token"})
	s.bus.NC.Close()
	if code, answer := s.post(header("Authorization", "Bearer x"), "Hi"); code != http.StatusServiceUnavailable {
		t.Errorf("got %d %s", code, answer)
	}
}

func TestReplyInTheResponse(t *testing.T) {
	t.Parallel()
	s := open(t, settings.Webhook{Secret: "x", Scheme: "token", Reply: "response", Wait: 2 * time.Second})
	answered, err := s.bus.NC.Subscribe("plugin.inbound.webhook.shop", func(m *nats.Msg) {
		var in bus.Inbound
		if json.Unmarshal(m.Data, &in) != nil || in.Text == "silence" {
			return
		}
		for _, final := range []bool{false, true} {
			out := bus.Outbound{ID: fmt.Sprint(in.ID, final), Agent: "ana", Session: "webhook.shop/dm/anonymous", To: in.From, Text: "about " + in.Text, InReplyTo: in.ID, Final: final, Kind: bus.KindReply}
			data, _ := json.Marshal(out)
			_ = s.bus.NC.Publish("plugin.outbound.webhook.shop", data)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answered.Unsubscribe() }()
	h := header("Authorization", "Bearer x", "Webhook-Id", "m1")
	var out bus.Outbound
	code, answer := s.post(h, `{"text":"it"}`)
	if err := json.Unmarshal([]byte(answer), &out); err != nil || code != http.StatusOK || out.Text != "about it" || !out.Final {
		t.Errorf("got %d %s", code, answer)
	}
	h.Set("Webhook-Id", "m2")
	if code, answer := s.post(h, `{"text":"silence"}`); code != http.StatusAccepted || answer != `{"id":"m2"}` {
		t.Errorf("without a reply: got %d %s", code, answer)
	}
}

// A message that is stored is accepted, also when the connection ends while its reply is
// waited for: its sender sends it no second time.
func TestConnectionEndsBeforeTheReply(t *testing.T) {
	t.Parallel()
	s := open(t, settings.Webhook{Secret: "x", Scheme: "token", Reply: "response"})
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		waittest.Until(t, "the message is stored", func() bool { return s.courier.Status().In == 1 })
		s.bus.NC.Close()
	}()
	defer func() { <-closed }()
	code, answer := s.post(header("Authorization", "Bearer x", "Webhook-Id", "m1"), "Hi")
	if code != http.StatusAccepted || answer != `{"id":"m1"}` {
		t.Errorf("got %d %s", code, answer)
	}
}

// A callback is the other side of replies.
type callback struct {
	testing.TB
	server *httptest.Server
	mu     sync.Mutex
	got    []bus.Outbound
	ids    map[string]bool
	next   []func(http.ResponseWriter)
}

func newCallback(t testing.TB) *callback {
	c := &callback{TB: t, ids: map[string]bool{}}
	c.server = httptest.NewServer(http.HandlerFunc(c.serve))
	t.Cleanup(c.server.Close)
	return c
}

func (c *callback) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		c.Error(err)
	}
	id := r.Header.Get("webhook-id")
	seconds, err := strconv.ParseInt(r.Header.Get("webhook-timestamp"), 10, 64)
	if err != nil || r.Header.Get("webhook-signature") != signature(id, time.Unix(seconds, 0), string(body)) {
		c.Errorf("a post is not signed: %v", r.Header)
	}
	var out bus.Outbound
	if err := json.Unmarshal(body, &out); err != nil || out.ID != id {
		c.Errorf("a post with the id %s: %s", id, body)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.next) > 0 {
		next := c.next[0]
		c.next = c.next[1:]
		next(w)
		return
	}
	if !c.ids[id] {
		c.ids[id] = true
		c.got = append(c.got, out)
	}
}

func (c *callback) answerNext(f func(http.ResponseWriter)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next = append(c.next, f)
}

func (c *callback) shown(plugintest.Chat) (list []plugintest.Sent) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.got {
		list = append(list, plugintest.Sent{Text: m.Text})
	}
	return list
}

// A hooked is a channel whose handler is served while it runs.
type hooked struct {
	*webhook.Channel
	handler *atomic.Pointer[http.Handler]
}

func (h hooked) Run(ctx context.Context, in *plugins.Inbox) error {
	handler := h.Handler(in)
	h.handler.Store(&handler)
	return h.Channel.Run(ctx, in)
}

func TestSuite(t *testing.T) {
	t.Parallel()
	plugintest.Run(t, plugintest.Suite{New: func(t testing.TB) plugintest.Platform {
		c := newCallback(t)
		var handler atomic.Pointer[http.Handler]
		written, last := 0, ""
		write := func() {
			rec := httptest.NewRecorder()
			req := httptest.NewRequest(http.MethodPost, "/hooks/shop", strings.NewReader(last))
			req.Header = signed(fmt.Sprintf("m-%d", written), time.Now(), last)
			(*handler.Load()).ServeHTTP(rec, req)
			if rec.Code != http.StatusAccepted {
				t.Errorf("got %d %s", rec.Code, rec.Body)
			}
		}
		return plugintest.Platform{
			Channel: func() plugins.Channel {
				made, err := webhook.New(settings.Webhook{Secret: secret, Reply: "callback", Callback: c.server.URL})
				if err != nil {
					t.Fatal(err)
				}
				return hooked{made, &handler}
			},
			Write: func(w plugintest.Written) {
				data, err := json.Marshal(map[string]string{"from": "ana", "text": w.Text})
				if err != nil {
					t.Fatal(err)
				}
				written, last = written+1, string(data)
				write()
			},
			Sent:   c.shown,
			Repeat: write,
			RateLimit: func(wait time.Duration) {
				c.answerNext(func(w http.ResponseWriter) {
					w.Header().Set("Retry-After", fmt.Sprint(int(wait/time.Second)))
					w.WriteHeader(http.StatusTooManyRequests)
				})
			},
			Refuse: func() { c.answerNext(func(w http.ResponseWriter) { http.Error(w, "never", http.StatusGone) }) },
			Fail:   func() { c.answerNext(func(w http.ResponseWriter) { w.WriteHeader(http.StatusBadGateway) }) },
		}
	}})
}

func TestCallbackVerdicts(t *testing.T) {
	t.Parallel()
	for code, permanent := range map[int]bool{
		301: true, 400: true, 401: true, 404: true, 410: true, 413: true, 408: false, 425: false, 429: false, 500: false, 502: false, 503: false, 200: false, 204: false,
	} {
		c := newCallback(t)
		c.answerNext(func(w http.ResponseWriter) { w.WriteHeader(code) })
		ch, err := webhook.New(settings.Webhook{Secret: secret, Reply: "callback", Callback: c.server.URL})
		if err != nil {
			t.Fatal(err)
		}
		out := bus.Outbound{ID: "r1"}
		data, err := json.Marshal(out)
		if err != nil {
			t.Fatal(err)
		}
		_, err = ch.Deliver(t.Context(), plugins.Message{Reply: &out, Envelope: data})
		if _, is := errors.AsType[*plugins.PermanentError](err); is != permanent || (err == nil) != (code/100 == 2) {
			t.Errorf("%d: got %v, permanent %t", code, err, is)
		}
	}
}

// A large body is read in the time that a body may take.
// The address of a callback may hold a secret: no error, which goes to the log, to dead letters
// and to the status, shows it.
func TestCallbackIsNotShown(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"http://127.0.0.1:1/path-secret?key=query-secret", "http://%zz/path-secret", "http://x.invalid:port/path-secret"} {
		ch, err := webhook.New(settings.Webhook{Secret: secret, Reply: "callback", Callback: address})
		if err != nil {
			t.Fatal(err)
		}
		_, err = ch.Deliver(t.Context(), plugins.Message{Reply: &bus.Outbound{ID: "r"}})
		if err == nil || strings.Contains(err.Error(), "-secret") {
			t.Errorf("Deliver: %v", err)
		}
	}
}

func TestLargeBody(t *testing.T) {
	t.Parallel()
	s := open(t, settings.Webhook{Secret: "x", Scheme: "token", MaxBody: 25_000_000, Text: "Pushed by ${body.name}"})
	h := header("Authorization", "Bearer x", "Webhook-Id", "1")
	if code, answer := s.post(h, `{"name":"ana","commits":"`+strings.Repeat("x", 24_900_000)+`"}`); code != http.StatusAccepted {
		t.Errorf("got %d %s", code, answer)
	}
	if got := s.stored(); len(got) != 1 || !strings.Contains(got[0], "Pushed by ana") {
		t.Errorf("stored %.300q", got)
	}
}
