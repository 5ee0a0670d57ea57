package agentprotocol_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"agenthost/bus/bustest"
	"agenthost/doors/doorstest"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

func TestMain(m *testing.M) { doorstest.Main(m) }

// A caller speaks the protocol from the other side.
type caller struct {
	testing.TB
	nc *nats.Conn
}

// discover asks all agents for what they are.
func (c caller) discover() []micro.Info {
	c.Helper()
	inbox := c.nc.NewRespInbox()
	sub, err := c.nc.SubscribeSync(inbox)
	if err != nil {
		c.Fatal(err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	if err := c.nc.PublishRequest("$SRV.INFO.agents", inbox, nil); err != nil {
		c.Fatal(err)
	}
	var list []micro.Info
	for {
		wait := 60 * time.Second
		if len(list) > 0 {
			wait = 300 * time.Millisecond
		}
		ctx, cancel := context.WithTimeout(c.Context(), wait)
		msg, err := sub.NextMsgWithContext(ctx)
		cancel()
		if err != nil {
			return list
		}
		var info micro.Info
		if err := json.Unmarshal(msg.Data, &info); err != nil {
			c.Fatal(err)
		}
		list = append(list, info)
	}
}

// agent is the one instance of an agent of that owner.
func (c caller) agent(owner, name string) micro.Info {
	c.Helper()
	suffix := "." + owner + "." + name
	for _, info := range c.discover() {
		if strings.HasSuffix(endpoint(c, info, "prompt").Subject, suffix) {
			return info
		}
	}
	c.Fatalf("no service for %s", name)
	return micro.Info{}
}

func endpoint(t testing.TB, info micro.Info, name string) micro.EndpointInfo {
	t.Helper()
	i := slices.IndexFunc(info.Endpoints, func(e micro.EndpointInfo) bool { return e.Name == name })
	if i < 0 {
		t.Fatalf("%s has no endpoint %s", info.ID, name)
	}
	return info.Endpoints[i]
}

// A frame is one message of an answer.
type frame struct {
	Type string          `json:"type"`
	Data json.RawMessage `json:"data"`
	code string          // of an error
	why  string
	body string
	end  bool
}

// text is that of a response, a status or an error.
func (f frame) text() string {
	var text string
	var long struct{ Text string }
	if json.Unmarshal(f.Data, &text) != nil && json.Unmarshal(f.Data, &long) == nil {
		text = long.Text
	}
	return text
}

// An answer is a stream of frames.
type answer struct {
	caller
	sub *nats.Subscription
}

// prompt sends a prompt.
func (c caller) prompt(subject, payload string, header ...string) answer {
	c.Helper()
	msg := &nats.Msg{Subject: subject, Data: []byte(payload), Reply: c.nc.NewInbox(), Header: nats.Header{}}
	for i := 0; i < len(header); i += 2 {
		msg.Header.Set(header[i], header[i+1])
	}
	sub, err := c.nc.SubscribeSync(msg.Reply)
	if err != nil {
		c.Fatal(err)
	}
	c.Cleanup(func() { _ = sub.Unsubscribe() })
	if err := c.nc.PublishMsg(msg); err != nil {
		c.Fatal(err)
	}
	return answer{c, sub}
}

// next is the next frame.
func (a answer) next() frame {
	a.Helper()
	msg, err := a.sub.NextMsgWithContext(bustest.Context(a))
	if err != nil {
		a.Fatal(err)
	}
	f := frame{
		code: msg.Header.Get(micro.ErrorCodeHeader), why: msg.Header.Get(micro.ErrorHeader), body: string(msg.Data),
		end: len(msg.Data) == 0 && len(msg.Header) == 0,
	}
	if f.code == "" && !f.end {
		if err := json.Unmarshal(msg.Data, &f); err != nil || f.Type == "" {
			a.Fatalf("%q is no chunk: %v", msg.Data, err)
		}
	}
	return f
}

// all are the frames to the end.
func (a answer) all() (list []frame) {
	a.Helper()
	for {
		f := a.next()
		list = append(list, f)
		if f.end {
			return list
		}
	}
}

// decode reads a chunk.
func decode(data []byte) (f frame) {
	_ = json.Unmarshal(data, &f) // it has no type then
	return f
}

// said is the text of the responses of frames.
func said(frames []frame) string {
	var b strings.Builder
	for _, f := range frames {
		if f.Type == "response" {
			b.WriteString(f.text())
		}
	}
	return b.String()
}

// A query is what an agent asks.
type query struct {
	ID           string `json:"id"`
	ReplySubject string `json:"reply_subject"`
	Prompt       string `json:"prompt"`
}

// query waits for one.
func (a answer) query() (q query) {
	a.Helper()
	for {
		f := a.next()
		if f.end || f.code != "" {
			a.Fatalf("got %+v before a query", f)
		}
		if f.Type == "query" {
			if err := json.Unmarshal(f.Data, &q); err != nil || q.ID == "" || q.ReplySubject == "" {
				a.Fatalf("%s is no query: %v", f.Data, err)
			}
			return q
		}
	}
}

func (a answer) reply(q query, text string) {
	a.Helper()
	if err := a.nc.Publish(q.ReplySubject, []byte(text)); err != nil {
		a.Fatal(err)
	}
}

func start(t testing.TB, more string) (*doorstest.Host, caller) {
	t.Helper()
	h := doorstest.Start(t, more)
	return h, caller{t, h.NC}
}
