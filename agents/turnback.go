package agents

import (
	"encoding/json"
	"strconv"

	"agenthost/agents/internal/clip"
	"agenthost/bus"
	"agenthost/bus/delivery"
	"agenthost/llm"

	"github.com/nats-io/nats.go"
)

// turnBack tells whoever waits for the result of a task that it cannot be read,
// as far as it can be read who that is; of a result that is this agent itself.
func (r *Runtime) turnBack(d *delivery.Delivery, why error) {
	if d.Stream() != bus.RoutesStream {
		return
	}
	var m struct {
		ID            string `json:"id"`
		Kind          string `json:"kind"`
		From          string `json:"from"`
		ReplyTo       string `json:"reply_to"`
		CorrelationID string `json:"correlation_id"`
	}
	_ = json.Unmarshal(d.Data(), &m) // what is of another type stays empty
	asked := m.ID
	m.ID = clip.Head(m.ID, longestID/2) // of the answer, which another agent may refuse as well
	result := bus.Route{
		ID: m.ID + ":unread", Kind: bus.RouteResult, From: r.id, CorrelationID: orElse(m.CorrelationID, asked), InReplyTo: asked,
		Error: &bus.Error{Code: string(llm.CodeValidation), Message: why.Error()},
	}
	switch {
	case m.Kind == bus.RouteDelegate && m.ReplyTo != "" && bus.ResultSubject(m.ReplyTo):
		r.tellUnread(m.ReplyTo, r.id+":"+m.ID+":unread", result)
	case m.Kind == bus.RouteResult && m.CorrelationID != "" && len(m.CorrelationID) <= longestID &&
		r.parts.Publisher.Signer().Verify(d.Subject, d.Header(), d.Data()):
		result.From, result.InReplyTo = m.From, ""
		result.Error = &bus.Error{Code: string(llm.CodeToolFailed), Message: "the result cannot be read: " + why.Error()}
		r.tellUnread(bus.RoutePrefix+r.id, d.Stream()+":"+strconv.FormatUint(d.Seq, 10)+":unread", result)
	}
}

func (r *Runtime) tellUnread(subject, id string, result bus.Route) {
	msg, err := bus.NewMessage(subject, result)
	if err != nil {
		return
	}
	if !bus.StoredSubject(subject) {
		err = r.parts.NC.PublishMsg(msg)
	} else {
		msg.Header.Set(nats.MsgIdHdr, id)
		r.parts.Publisher.Publish(msg, func(uint64, bool, error) {}) // the dead letter has it in any case
	}
	if err != nil {
		r.log().Warn().Err(err).Str("subject", subject).Msg("tell that a message cannot be read")
	}
}
