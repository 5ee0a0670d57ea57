package plugintest

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/session"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const agentID = "ana"

// An agent takes what comes on the subject of the account and answers it, as a host
// does: it stores its replies, and knows each message by its id.
type agent struct {
	w     *world
	mu    sync.Mutex
	heard []bus.Inbound
	ids   map[string]bool
	asked map[string]string // the call of the approval that is open, by person and chat
	runs  int
}

func startAgent(t testing.TB, w *world) *agent {
	a := &agent{w: w, ids: map[string]bool{}, asked: map[string]string{}}
	consumer, err := w.bus.JS.CreateConsumer(t.Context(), bus.InboundStream, jetstream.ConsumerConfig{
		FilterSubject: bus.InboundPrefix + account, AckPolicy: jetstream.AckExplicitPolicy,
	})
	if err != nil {
		t.Fatal(err)
	}
	consuming, err := consumer.Consume(a.take)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { consuming.Stop(); <-consuming.Closed() })
	return a
}

func (a *agent) take(m jetstream.Msg) {
	in, err := bus.DecodeInbound(m.Data())
	if err != nil {
		a.w.Errorf("the channel published %s: %v", m.Data(), err)
		return
	}
	a.mu.Lock()
	again := a.ids[in.From+"/"+in.Chat+"/"+in.ID]
	a.ids[in.From+"/"+in.Chat+"/"+in.ID] = true
	if !again {
		a.heard = append(a.heard, in)
	}
	a.mu.Unlock()
	if !again {
		a.answer(in)
	}
	if err := m.Ack(); err != nil {
		a.w.Errorf("ack inbound: %v", err)
	}
}

// inbound is what the agent has got.
func (a *agent) inbound() []bus.Inbound {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]bus.Inbound(nil), a.heard...)
}

// callID is that of the agent's approvals.
func callID() string {
	return agentID + "." + session.SID(agentID, "k") + ".abcdefghijklmnopqrstuvwxyz"
}

// answersTo is the call that a message answers: the one it names, or the approval
// that is open in its chat, where a person has written a word instead of pressing.
func (a *agent) answersTo(in bus.Inbound) (call string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if in.Answers != "" {
		return in.Answers
	}
	if in.Text != "approve" {
		return ""
	}
	return a.asked[in.From+"/"+in.Chat]
}

func (a *agent) ask(in bus.Inbound, call string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked[in.From+"/"+in.Chat] = call
}

func (a *agent) answer(in bus.Inbound) {
	word, rest, _ := strings.Cut(in.Text, " ")
	call := a.answersTo(in)
	a.ask(in, "")
	out := bus.Outbound{Kind: bus.KindReply, Final: true, InReplyTo: in.ID}
	switch {
	case call != "":
		out.Text = "answered " + in.Text + " to " + call
	case word == "think":
		return
	case word == "long":
		n, _ := strconv.Atoi(rest)
		out.Text = longText(n)
	case word == "approve?":
		out.Kind, out.Final, out.Call, out.Options = bus.KindApproval, false, callID(), []string{"approve", "deny"}
		out.Text = "May I? Reply approve or deny."
		a.ask(in, callID())
	case word == "file":
		out.Text = "here it is"
		object, err := a.w.parts.Files.Put(a.w.Context(), []byte("some content"))
		if err != nil {
			a.w.Error(err)
		}
		out.Media = []bus.Media{{Kind: "file", MIME: "text/plain", Name: "notes.txt", Size: int64(len("some content")), Object: object}}
	default:
		out.Text = "echo " + in.Text
		for _, m := range in.Media {
			out.Text += fmt.Sprintf(" with %s", m.Name)
		}
	}
	a.send(in, out)
}

// send publishes a reply to the sender of in.
func (a *agent) send(in bus.Inbound, out bus.Outbound) {
	a.mu.Lock()
	a.runs++
	if out.Run == "" {
		out.Run = "run" + strconv.Itoa(a.runs)
	}
	a.mu.Unlock()
	out.ID, out.Agent, out.SentAt = out.Run+".1", agentID, time.Now().UTC()
	key := session.DM(channel, instance, in.From)
	if in.Group {
		key = session.Group(channel, instance, in.Chat, in.Thread)
	}
	out.Session, out.To, out.Chat, out.Thread = string(key), in.From, in.Chat, in.Thread
	data, err := json.Marshal(out)
	if err != nil {
		a.w.Error(err)
	}
	msg := nats.NewMsg(bus.OutboundPrefix + account)
	msg.Data = data
	msg.Header.Set(nats.MsgIdHdr, out.ID)
	if _, err := a.w.bus.JS.PublishMsg(a.w.Context(), msg); err != nil && a.w.Context().Err() == nil {
		a.w.Errorf("publish reply: %v", err)
	}
}

// write publishes what was written so far of a run.
func (a *agent) write(in bus.Inbound, run, text string) {
	data, err := json.Marshal(map[string]any{"run": run, "turn": 1, "text": text})
	if err != nil {
		a.w.Error(err)
	}
	key := session.DM(channel, instance, in.From)
	if err := a.w.bus.NC.Publish(bus.StreamPrefix+agentID+"."+session.SID(agentID, key), data); err != nil {
		a.w.Error(err)
	}
}

// longText is n numbered words in paragraphs and lists.
func longText(n int) string {
	var b strings.Builder
	for i := range n {
		switch {
		case i%50 == 0 && i > 0:
			b.WriteString("\n\n")
		case i%10 == 0 && i > 0:
			b.WriteString("\n")
		case i > 0:
			b.WriteString(" ")
		}
		fmt.Fprintf(&b, "word%05d", i)
	}
	return b.String()
}
