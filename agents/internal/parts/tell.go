package parts

import (
	"agenthost/bus"
)

// Tell says to a program that has sent an answer what became of it.
func (p *Parts) Tell(answer *bus.Route, err error) {
	if !bus.Publishable(answer.ReplyTo) {
		return
	}
	told := bus.Route{Kind: bus.RouteResult, CorrelationID: answer.CorrelationID, InReplyTo: answer.ID}
	if err != nil {
		told.Error = &bus.Error{Code: "validation", Message: err.Error()}
	}
	msg, failed := bus.NewMessage(answer.ReplyTo, told)
	if failed == nil {
		failed = p.NC.PublishMsg(msg)
	}
	if failed != nil {
		p.Log.Debug().Err(failed).Msg("tell what became of an answer")
	}
}
