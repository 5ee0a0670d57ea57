//go:build long

package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/host"
	"agenthost/host/hosttest"
	"agenthost/internal/waittest"

	"github.com/nats-io/nats.go"
)

// longer than the line of a command that NATS takes: it closes the connection of a
// client that sends such a subject, for good.
var tooLong = strings.Repeat("x", 5000)

// What strangers write becomes no part of a subject that costs the host its connection.
func TestLongNamesOfStrangers(t *testing.T) {
	t.Parallel()
	h, _ := start(t, demo(t))
	nc := h.Bus().NC
	var sent int
	send := func(subject string, header nats.Header, payload string) {
		t.Helper()
		sent++
		payload = strings.ReplaceAll(payload, `"from":"ana"`, fmt.Sprintf(`"from":"ana-%d"`, sent)) // none waits for another
		if err := nc.PublishMsg(&nats.Msg{Subject: subject, Header: header, Data: []byte(payload)}); err != nil {
			t.Fatalf("after %d messages: %v", sent, err)
		}
	}
	for _, field := range []string{
		"id", "from", "name", "chat", "thread", "conversation", "text", "priority", "agent", "answers", "edits", "withdraws",
		"reply_to", "sent_at", "correlation_id", "in_reply_to", "missed", "scope", "door",
	} {
		for _, value := range []string{tooLong, tooLong + "." + tooLong[:20] + "." + tooLong[:26]} {
			send("plugin.inbound.demo", nil, fmt.Sprintf(`{"text":"hi","from":"ana",%q:%q}`, field, value))
			for _, kind := range []string{"task", "delegate", "result", "abort", "event"} {
				send("agent.route.demo", nil, fmt.Sprintf(`{"text":"hi","from":"ana","kind":%q,%q:%q}`, kind, field, value))
			}
		}
	}
	for _, media := range []string{`{"kind":"image","object":%q}`, `{"kind":"file","name":%q,"object":"x"}`, `{"kind":"image","mime":%q,"url":"x"}`} {
		for _, subject := range []string{"plugin.inbound.demo", "agent.route.demo"} {
			send(subject, nil, fmt.Sprintf(`{"text":"hi","from":"ana","kind":"task","media":[`+media+`]}`, tooLong))
		}
	}
	for _, name := range []string{nats.MsgIdHdr, "traceparent", "tracestate", "Nats-Reply"} {
		send("plugin.inbound.demo", nats.Header{name: {tooLong[:3000]}}, `{"text":"hi","from":"ana"}`)
	}
	for _, subject := range operations(t, nc) {
		all := map[string]any{}
		for _, field := range []string{
			"agent", "id", "session", "model", "after", "text", "name", "person", "host", "by", "key", "from", "to", "channel", "instance",
			"schedule", "waiting", "run", "pairing", "query", "scope", "reason", "token", "lane", "peer",
		} {
			all[field] = tooLong
		}
		body, err := json.Marshal(all)
		if err != nil {
			t.Fatal(err)
		}
		for _, request := range []string{string(body), `{"agent":"demo","session":"` + tooLong + `","id":"` + tooLong + `.` + tooLong[:20] + `.` + tooLong[:26] + `"}`} {
			// Some are answered only by the host that has what they name.
			within, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			_, err := nc.RequestWithContext(within, subject, []byte(request))
			cancel()
			if err != nil && !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("%s: %v", subject, err)
			}
		}
	}
	waittest.Until(t, "all messages are done", func() bool { return nc.IsClosed() || undone(t, h) == 0 })
	out := outbound(t, nc, 1)
	publish(t, nc, "plugin.inbound.demo", bus.Inbound{From: "ben", Text: "still there?"})
	if o := out()[0]; !strings.Contains(o.Text, "still there?") {
		t.Errorf("got %+v", o)
	}
	if nc.IsClosed() || nc.Stats().Reconnects > 0 {
		t.Errorf("the host has lost its connection; closed: %t, reconnected %d times: %v", nc.IsClosed(), nc.Stats().Reconnects, nc.LastError())
	}
}

// A host without a connection would only look alive: it ends, and is started again.
func TestConnectionClosedForGood(t *testing.T) {
	t.Parallel()
	h := host.New(host.Options{Config: demo(t), Log: hosttest.Log(t)})
	ended := make(chan error, 1)
	go func() { ended <- h.Run(t.Context()) }()
	waittest.Until(t, "the host is ready", func() bool {
		select {
		case <-h.Ready():
			return true
		default:
			return false
		}
	})
	_ = h.Bus().NC.Publish(tooLong, nil)
	bustest.WantError(t, <-ended, "NATS has closed the connection for good", "maximum control line exceeded")
}

// undone are the messages of all lanes that wait or are at work.
func undone(t *testing.T, h *host.Host) (n uint64) {
	t.Helper()
	for _, name := range []string{bus.InboundStream, bus.RoutesStream} {
		stream, err := h.Bus().JS.Stream(t.Context(), name)
		if err != nil {
			return 1
		}
		for c := range stream.ListConsumers(t.Context()).Info() {
			n += c.NumPending + uint64(c.NumAckPending)
		}
	}
	return n
}

// operations are the subjects of the service of hosts.
func operations(t *testing.T, nc *nats.Conn) (subjects []string) {
	t.Helper()
	msg, err := nc.RequestWithContext(t.Context(), "$SRV.INFO.agenthost", nil)
	if err != nil {
		t.Fatal(err)
	}
	info := struct{ Endpoints []struct{ Subject string } }{}
	if err := json.Unmarshal(msg.Data, &info); err != nil {
		t.Fatal(err)
	}
	for _, e := range info.Endpoints {
		if !strings.Contains(e.Subject, "reload") && !strings.Contains(e.Subject, "drain") {
			subjects = append(subjects, e.Subject)
		}
	}
	if len(subjects) < 20 {
		t.Fatalf("operations: %q", subjects)
	}
	return subjects
}
