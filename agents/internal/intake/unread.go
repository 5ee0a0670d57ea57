package intake

import (
	"cmp"
	"strconv"
	"strings"

	"agenthost/agents"
	"agenthost/agents/internal/clip"
	"agenthost/agents/internal/lanes"
	"agenthost/agents/internal/message"
	"agenthost/agents/internal/senders"
	"agenthost/agents/internal/tracing"
	"agenthost/bus"
	"agenthost/bus/delivery"
	"agenthost/llm"

	"github.com/nats-io/nats.go"
)

// turnBack tells the agent that waits for the result of a task that it cannot be read,
// as far as it can be read who that is; of a result that is this agent itself.
func (i *Intake) turnBack(d *delivery.Delivery, why error) {
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
	_ = bus.ReadFields(d.Data(), &m) // what is of another type stays empty
	asked := message.ID(m.ID, d)
	m.ID = clip.Head(asked, bus.LongestID/2) // of the answer, which another agent may refuse as well
	result := bus.Route{
		ID: m.ID + ":unread", Kind: bus.RouteResult, From: i.Agent, CorrelationID: cmp.Or(m.CorrelationID, asked), InReplyTo: asked,
		Error: &bus.Error{Code: string(llm.CodeValidation), Message: why.Error()},
	}
	switch {
	case (m.Kind == bus.RouteDelegate || !bus.KnownRoute(m.Kind)) && m.ReplyTo != "" && bus.ResultSubject(m.ReplyTo):
		i.tellUnread(d, m.ReplyTo, i.Agent+":"+m.ID+":unread", result)
	case m.Kind == bus.RouteResult && m.CorrelationID != "" && len(m.CorrelationID) <= bus.LongestID &&
		i.Parts.Publisher.Signer().Verify(d.Subject, d.Header(), d.Data()):
		result.From, result.InReplyTo = m.From, ""
		result.Error = &bus.Error{Code: string(llm.CodeToolFailed), Message: "the result cannot be read: " + why.Error()}
		i.tellUnread(d, bus.RoutePrefix+i.Agent, d.Stream()+":"+strconv.FormatUint(d.Seq, 10)+":unread", result)
	}
}

func (i *Intake) tellUnread(d *delivery.Delivery, subject, id string, result bus.Route) {
	msg, err := bus.NewMessage(subject, result)
	if err != nil {
		return
	}
	tracing.In(d.Header()).Set(msg.Header)
	if !bus.StoredSubject(subject) {
		err = i.Parts.NC.PublishMsg(msg)
	} else {
		msg.Header.Set(nats.MsgIdHdr, id)
		i.Parts.Publisher.Publish(msg, func(uint64, bool, error) {}) // the dead letter has it in any case
	}
	if err != nil {
		i.log().Warn().Err(err).Str("subject", subject).Msg("tell that a message cannot be read")
	}
}

// admitsUnread reports whether who has sent a message that cannot be taken is told so: who may
// not write here is not. What it does not admit is settled.
func (i *Intake) admitsUnread(it *message.Item) bool {
	it.Binding = i.Now().Binding(it.Origin.Subject)
	if it.Binding == nil {
		return true
	}
	if !i.mayWrite(it) {
		return false
	}
	if it.OnlyKnown { // no session has it
		it.Delivery.Done()
		return false
	}
	if it.Binding.Rate.Over == agents.RateRefuse && !it.MayHaveBegun() { // it has no log that could show its answer
		i.Rate(it)
	}
	if it.Unrated.IsZero() || i.WithinRate(it) {
		return true
	}
	why := i.OverRate(it)
	e := &bus.Error{Code: string(why.Code), Message: why.Message}
	i.Busy.Go(func() {
		i.tell(it, it.Delivery, "over", bus.Outbound{Kind: bus.KindError, Text: e.Message, Error: e, Final: true}, settle(it.Delivery))
	})
	return false
}

// Welcomes reports whether who has sent a message may write on the binding by which it came.
func (i *Intake) Welcomes(d *delivery.Delivery) bool {
	it, err := message.Decode(d, i.Parts.Publisher.Signer())
	if err != nil && it == nil {
		it = message.Unread(d)
	}
	if it == nil || it.Origin.Inbound == nil {
		return true
	}
	it.Binding = i.Now().Binding(d.Subject)
	return it.Binding == nil || it.Binding.Senders.Pairing && !i.pairingsKnown() || i.judge(it) == senders.Welcome
}

// namesAnother reports whether a message of a chat that cannot be taken names another agent, which
// answers it alone.
func (i *Intake) namesAnother(d *delivery.Delivery) bool {
	if _, _, ok := bus.Channel(d.Subject); !ok {
		return false
	}
	name := lanes.Named(d)
	return name != "" && name != i.Agent && name != i.Now().Config.ShadowOf
}

// echoedID is how many bytes an error repeats of an id that is longer.
const echoedID = 4096

// turnBackInbound answers the sender of a message that cannot be taken for its
// id. There is no session that could: the id is what names the message there.
func (i *Intake) turnBackInbound(it *message.Item, why error) {
	reason := strings.TrimPrefix(why.Error(), bus.ErrMalformed.Error()+": ")
	e := &bus.Error{Code: string(llm.CodeValidation), Message: i.book(it).Say("message_refused", "reason", reason)}
	i.tell(it, it.Delivery, "refused", bus.Outbound{Kind: bus.KindError, Text: e.Message, Error: e, Final: true}, func(bool) {}) // the dead letter has the message
}
