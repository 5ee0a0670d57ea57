package agents

import (
	"encoding/json"

	"agenthost/bus"
	"agenthost/llm"

	"github.com/nats-io/nats.go"
)

// turnBack tells whoever waits for the result of a task that it cannot be read,
// as far as it can be read who that is.
func (r *Runtime) turnBack(d *bus.Delivery, why error) {
	var task struct {
		ID            string `json:"id"`
		Kind          string `json:"kind"`
		ReplyTo       string `json:"reply_to"`
		CorrelationID string `json:"correlation_id"`
	}
	_ = json.Unmarshal(d.Data(), &task) // what is of another type stays empty
	if d.Stream() != bus.RoutesStream || task.Kind != bus.RouteDelegate || task.ReplyTo == "" || !bus.Publishable(task.ReplyTo) {
		return
	}
	msg, err := bus.NewMessage(task.ReplyTo, bus.Route{
		ID: task.ID + ":unread", Kind: bus.RouteResult, From: r.id, CorrelationID: orElse(task.CorrelationID, task.ID), InReplyTo: task.ID,
		Error: &bus.Error{Code: string(llm.CodeValidation), Message: why.Error()},
	})
	if err != nil {
		return
	}
	if !bus.StoredSubject(task.ReplyTo) {
		err = r.parts.NC.PublishMsg(msg)
	} else {
		msg.Header.Set(nats.MsgIdHdr, r.id+":"+task.ID+":unread")
		r.parts.Publisher.Publish(msg, func(uint64, bool, error) {}) // the dead letter has it in any case
	}
	if err != nil {
		r.log().Warn().Err(err).Str("subject", task.ReplyTo).Msg("tell that a task cannot be read")
	}
}
