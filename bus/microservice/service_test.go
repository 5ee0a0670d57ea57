package microservice_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"agenthost/bus/bustest"
	"agenthost/bus/microservice"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
	"github.com/rs/zerolog"
)

func echo(req micro.Request) {
	if len(req.Data()) == 0 {
		_ = req.Error("400", "no data", nil)
		return
	}
	_ = req.Respond(req.Data(), micro.WithHeaders(micro.Headers{"Was": {req.Subject()}}))
}

var endpoints = []microservice.Endpoint{
	{Name: "echo", Subject: "acme.echo", Description: "says it again", Handler: micro.HandlerFunc(echo)},
	{Name: "all", Subject: "acme.all", Description: "as well", Handler: micro.HandlerFunc(echo), All: true},
}

func start(t *testing.T, log zerolog.Logger, list ...microservice.Endpoint) (*nats.Conn, *microservice.Service) {
	t.Helper()
	nc := bustest.Open(t).NC
	s, err := microservice.Start(nc, microservice.Config{
		Name: "acme", Version: "1.2.3", Description: "A company.", Metadata: map[string]string{"host": "one"}, Log: log,
	}, list...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return nc, s
}

func request(t *testing.T, nc *nats.Conn, subject, data string) *nats.Msg {
	t.Helper()
	msg, err := nc.RequestWithContext(t.Context(), subject, []byte(data))
	if err != nil {
		t.Fatalf("request %s: %v", subject, err)
	}
	return msg
}

// framework starts the same service by the framework of nats.go.
func framework(t *testing.T) *nats.Conn {
	t.Helper()
	nc := bustest.Open(t).NC
	s, err := micro.AddService(nc, micro.Config{Name: "acme", Version: "1.2.3", Description: "A company.", Metadata: map[string]string{"host": "one"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range endpoints {
		opts := []micro.EndpointOpt{micro.WithEndpointSubject(e.Subject), micro.WithEndpointMetadata(map[string]string{"description": e.Description})}
		if e.All {
			opts = append(opts, micro.WithEndpointQueueGroupDisabled())
		}
		if err := s.AddEndpoint(e.Name, e.Handler, opts...); err != nil {
			t.Fatal(err)
		}
	}
	return nc
}

// withoutOwn is an answer without what is never the same twice: the id and times.
func withoutOwn(t *testing.T, data []byte) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	hide := func(m map[string]any, keys ...string) {
		for _, k := range keys {
			if _, ok := m[k]; ok {
				m[k] = "…"
			}
		}
	}
	hide(m, "id", "started")
	if list, ok := m["endpoints"].([]any); ok {
		for _, e := range list {
			hide(e.(map[string]any), "processing_time", "average_processing_time")
		}
	}
	return m
}

func TestSpeaksTheProtocolAsTheFramework(t *testing.T) {
	theirs := framework(t)
	ours, _ := start(t, zerolog.Nop(), endpoints...)
	for _, nc := range []*nats.Conn{theirs, ours} {
		if msg := request(t, nc, "acme.echo", "hello"); string(msg.Data) != "hello" || msg.Header.Get("Was") != "acme.echo" {
			t.Errorf("echo: got %s %v", msg.Data, msg.Header)
		}
		msg := request(t, nc, "acme.all", "")
		// A request is counted after it was answered.
		bustest.Eventually(t, "both requests are counted", func() bool {
			var stats micro.Stats
			if err := json.Unmarshal(request(t, nc, "$SRV.STATS.acme", "").Data, &stats); err != nil {
				t.Fatal(err)
			}
			return stats.Endpoints[0].NumRequests+stats.Endpoints[1].NumRequests == 2
		})
		if msg.Header.Get(micro.ErrorCodeHeader) != "400" || msg.Header.Get(micro.ErrorHeader) != "no data" {
			t.Errorf("error: got %v", msg.Header)
		}
	}
	for _, subject := range []string{"$SRV.PING", "$SRV.PING.acme", "$SRV.INFO", "$SRV.INFO.acme", "$SRV.STATS", "$SRV.STATS.acme"} {
		want, got := withoutOwn(t, request(t, theirs, subject, "").Data), withoutOwn(t, request(t, ours, subject, "").Data)
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-framework +ours):\n%s", subject, diff)
		}
	}
}

func TestAnswersByItsOwnID(t *testing.T) {
	nc, _ := start(t, zerolog.Nop(), endpoints...)
	var ping micro.Ping
	if err := json.Unmarshal(request(t, nc, "$SRV.PING", "").Data, &ping); err != nil || ping.ID == "" {
		t.Fatalf("got %+v, %v", ping, err)
	}
	if msg := request(t, nc, "$SRV.INFO.acme."+ping.ID, ""); !strings.Contains(string(msg.Data), ping.ID) {
		t.Errorf("got %s", msg.Data)
	}
}

// lines are those of a log.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

// An answer on a subject of hosts, channels or NATS would be the host's word.
func TestAnswersOnNoForeignReplySubject(t *testing.T) {
	lines := make(lines, 1000)
	nc, _ := start(t, zerolog.New(lines), endpoints...)
	asked := []string{"acme.echo", "acme.all", "$SRV.PING", "$SRV.PING.acme", "$SRV.INFO", "$SRV.STATS.acme"}
	for _, reply := range []string{"agenthost.approve", "agent.route.bank", "plugin.inbound.web", "$JS.API.STREAM.PURGE.X", ""} {
		for _, subject := range asked {
			heard, err := nc.SubscribeSync(cmp.Or(reply, "unused"))
			if err != nil {
				t.Fatal(err)
			}
			if err := nc.PublishMsg(&nats.Msg{Subject: subject, Reply: reply, Data: []byte("x")}); err != nil {
				t.Fatal(err)
			}
			request(t, nc, subject, "x") // by now the one before was looked at
			if n, _, err := heard.Pending(); n > 0 || err != nil {
				t.Errorf("%s answers on %q: %d, %v", subject, reply, n, err)
			}
			_ = heard.Unsubscribe()
		}
	}
	if line := <-lines; !strings.Contains(line, `"reply":"agenthost.approve"`) {
		t.Errorf("log: %s", line)
	}
}

func TestServesNotices(t *testing.T) {
	noticed := make(chan string, 4)
	take := micro.HandlerFunc(func(req micro.Request) { noticed <- string(req.Data()) })
	nc, _ := start(t, zerolog.Nop(),
		microservice.Endpoint{Name: "notice", Subject: "acme.notice", Handler: take, All: true, Notice: true},
		microservice.Endpoint{Name: "request", Subject: "acme.request", Handler: take})
	for _, m := range []*nats.Msg{
		{Subject: "acme.request", Data: []byte("a request without a reply subject")},
		{Subject: "acme.notice", Reply: "agenthost.reload", Data: []byte("a notice with another's")},
		{Subject: "acme.notice", Data: []byte("a notice")},
	} {
		if err := nc.PublishMsg(m); err != nil {
			t.Fatal(err)
		}
	}
	if got := <-noticed; got != "a notice" {
		t.Errorf("got %q", got)
	}
}

func TestStopped(t *testing.T) {
	nc, s := start(t, zerolog.Nop(), endpoints...)
	s.Stop()
	for _, subject := range []string{"acme.echo", "$SRV.PING"} {
		if _, err := nc.RequestWithContext(t.Context(), subject, []byte("x")); !errors.Is(err, nats.ErrNoResponders) {
			t.Errorf("%s: got %v", subject, err)
		}
	}
}

func TestStartFails(t *testing.T) {
	nc := bustest.Open(t).NC
	for name, e := range map[string]microservice.Endpoint{
		"no subject":  {Name: "x", Subject: "a..b"},
		"a blank":     {Name: "x", Subject: "a b"},
		"not started": {Name: "x", Subject: ""},
	} {
		e.Handler = micro.HandlerFunc(echo)
		_, err := microservice.Start(nc, microservice.Config{Name: "acme", Version: "1.0.0", Log: zerolog.Nop()}, append(slices.Clone(endpoints), e)...)
		if err == nil || !strings.Contains(err.Error(), "start service acme: subscribe to") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := nc.RequestWithContext(t.Context(), "acme.echo", []byte("x")); !errors.Is(err, nats.ErrNoResponders) {
		t.Errorf("what was subscribed to before the error: got %v", err)
	}
}

// An answer that is too large is an error that counts, and the client gets one.
func TestErrorsAreCounted(t *testing.T) {
	large := micro.HandlerFunc(func(req micro.Request) {
		if err := req.Respond(make([]byte, 2<<20)); err != nil {
			_ = req.Error("500", "too large", nil)
		}
		if err := req.RespondJSON(func() {}); !errors.Is(err, micro.ErrMarshalResponse) {
			t.Errorf("a function as JSON: %v", err)
		}
		if err := req.Error("", "x", nil); !errors.Is(err, micro.ErrArgRequired) {
			t.Errorf("no code: %v", err)
		}
	})
	nc, _ := start(t, zerolog.Nop(), microservice.Endpoint{Name: "large", Subject: "acme.large", Handler: large})
	request(t, nc, "acme.large", "")
	bustest.Eventually(t, "the request and its errors are counted", func() bool { // the answer is on its way before
		var stats micro.Stats
		if err := json.Unmarshal(request(t, nc, "$SRV.STATS.acme", "").Data, &stats); err != nil {
			t.Fatal(err)
		}
		e := stats.Endpoints[0]
		return e.NumRequests == 1 && e.NumErrors == 2 && e.LastError == "500:too large"
	})
}

func TestEndpointWithAGroupAndMetadata(t *testing.T) {
	nc, s := start(t, zerolog.Nop(), microservice.Endpoint{
		Name: "grouped", Subject: "grouped", Group: "own", Description: "d", Metadata: map[string]string{"a": "b"}, Handler: micro.HandlerFunc(echo),
	})
	var info micro.Info
	if err := json.Unmarshal(request(t, nc, "$SRV.INFO.acme."+s.ID(), "").Data, &info); err != nil {
		t.Fatal(err)
	}
	want := []micro.EndpointInfo{{Name: "grouped", Subject: "grouped", QueueGroup: "own", Metadata: map[string]string{"a": "b", "description": "d"}}}
	if diff := gocmp.Diff(want, info.Endpoints); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
