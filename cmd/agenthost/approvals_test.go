package main

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/streams"
	"agenthost/internal/control"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nats.go/micro"
	"github.com/rs/zerolog"
)

const waitID = "ana.aaaaaaaaaaaaaaaaaaaa.bbbbbbbbbbbb"

// waitsFor is a NATS where one call waits, with no host.
func waitsFor(t *testing.T, w control.Waiting) (url string, nc *nats.Conn) {
	t.Helper()
	t.Chdir(t.TempDir())
	url, _ = bustest.Server(t)
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	if err := streams.Provision(t.Context(), js, 1, 4, zerolog.Nop()); err != nil {
		t.Fatal(err)
	}
	kv, err := js.KeyValue(t.Context(), bus.WaitingBucket)
	if err != nil {
		t.Fatal(err)
	}
	w.ID, w.Agent = waitID, "ana"
	data, err := json.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kv.Put(t.Context(), w.ID, data); err != nil {
		t.Fatal(err)
	}
	return url, nc
}

// pretend is a host that serves ana and says word to its orders; empty: nothing.
func pretend(t *testing.T, nc *nats.Conn, word string) {
	t.Helper()
	svc, err := micro.AddService(nc, micro.Config{Name: control.ServiceName, Version: "0.1.0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = svc.Stop() })
	err = svc.AddEndpoint("status", micro.HandlerFunc(func(req micro.Request) {
		status := control.Status{Host: "blue", Agents: make([]control.AgentStatus, 1)}
		status.Agents[0].ID = "ana"
		_ = req.RespondJSON(status)
	}), micro.WithEndpointSubject(control.StatusSubject))
	if err != nil {
		t.Fatal(err)
	}
	_, err = nc.Subscribe("agent.route.ana", func(m *nats.Msg) {
		r, err := bus.DecodeRoute(m.Data)
		if err == nil && word != "" {
			err = nc.Publish(r.ReplyTo, []byte(word))
		}
		if err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
}

const (
	refused   = `{"kind":"result","correlation_id":"c","error":{"code":"validation","message":"no"}}`
	malformed = `{"kind":"what"}`
)

func TestAnswerRefused(t *testing.T) {
	url, nc := waitsFor(t, control.Waiting{Kind: control.ForApproval, Prompt: "pay"})
	pretend(t, nc, refused)
	stdout, stderr := call(t, codeFailed, "", "approvals", "answer", waitID, "approve", "-s", url)
	contains(t, stderr, `agenthost: answer "`+waitID+`": it is already answered`)
	if stdout != "" {
		t.Errorf("standard output: %q", stdout)
	}
	_, stderr = call(t, codeFailed, "", "runs", "abort", "ana", "web/dm/7", "-s", url)
	contains(t, stderr, "there is nothing to stop")
}

// What a host says that is no word of one is an error, and so is silence when it
// is cut short.
func TestOrderWithoutAWord(t *testing.T) {
	url, nc := waitsFor(t, control.Waiting{Kind: control.ForQuestion, Prompt: "Which?"})
	pretend(t, nc, malformed)
	_, stderr := call(t, codeFailed, "", "approvals", "answer", waitID, "blue", "-s", url)
	contains(t, stderr, "malformed message")
	_, stderr = call(t, codeFailed, "", "runs", "abort", "ana", "web/dm/7", "-s", url)
	contains(t, stderr, "stop web/dm/7 of ana: malformed message")
}

func TestOrderIsStored(t *testing.T) {
	for name, silent := range map[string]bool{"no host": false, "a host that is silent": true} {
		t.Run(name, func(t *testing.T) {
			url, nc := waitsFor(t, control.Waiting{Kind: control.ForApproval, Prompt: "pay"})
			if silent {
				pretend(t, nc, "")
			}
			stdout, stderr := call(t, codeDone, "", "approvals", "answer", waitID, "approve", "--by", "bo", "--scope", "session", "--timeout", "1ms", "-s", url)
			contains(t, stdout, "the answer is stored")
			contains(t, stderr, "no host took the answer yet; it waits in the stream AGENT_ROUTES")
			stdout, stderr = call(t, codeDone, "", "runs", "abort", "ana", "web/dm/7", "--timeout", "1ms", "--json", "-s", url)
			contains(t, stdout, `"state": "stored"`)
			contains(t, stderr, "no host took the order yet; it waits in the stream AGENT_ROUTES")
			route := firstRoute(t, nc)
			if route.Kind != bus.RouteResult || route.CorrelationID != waitID || route.Text != "approve" || route.Scope != "session" || route.From != "bo" {
				t.Errorf("got %+v", route)
			}
		})
	}
}

func firstRoute(t *testing.T, nc *nats.Conn) bus.Route {
	t.Helper()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	stream, err := js.Stream(ctx, bus.RoutesStream)
	if err != nil {
		t.Fatal(err)
	}
	msg, err := stream.GetMsg(ctx, 1)
	if err != nil {
		t.Fatal(err)
	}
	route, err := bus.DecodeRoute(msg.Data)
	if err != nil {
		t.Fatal(err)
	}
	return route
}

func TestDelegatesAreNotAnswered(t *testing.T) {
	url, _ := waitsFor(t, control.Waiting{Kind: control.ForDelegate, Prompt: "pay", To: "kate"})
	_, stderr := call(t, codeFailed, "", "approvals", "answer", waitID, "approve", "-s", url)
	contains(t, stderr, "it waits for the agent kate, not for a person")
	_, stderr = call(t, codeFailed, "", "approvals", "answer", "other", "approve", "-s", url)
	contains(t, stderr, `"other": nothing waits for this answer`)
}
