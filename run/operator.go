package run

import (
	"slices"
	"time"

	"agenthost/llm"
)

// An operator may take the chat of a session over. From then on no run begins in
// it: what people write is heard, what the operator writes is a reply, and both
// are messages of the conversation, which the model is sent once the operator
// has handed the chat back.
//
// Only the order that comes during a run is for the machine: it ends the run.
// The rest are facts that the owner of the session adds to the log.

// An Operator is the person who has taken the chat of a session over.
type Operator struct {
	By    string    `json:"by,omitempty"`
	Since time.Time `json:"since"`
	// Address is where the operator's messages go: to the last sender.
	Address Address `json:"address"`
	// Open are the ids of what has come since the operator wrote, the last ones.
	Open []string `json:"open,omitempty"`
}

// mostOpen bounds Open.
const mostOpen = 100

// An Address is where something is said to a person.
type Address struct {
	Subject string `json:"subject"`
	To      string `json:"to,omitempty"`
	Chat    string `json:"chat,omitempty"`
	Thread  string `json:"thread,omitempty"`
	ReplyTo string `json:"reply_to,omitempty"` // the message that is answered
}

// Joined is the fact that who sent the order input takes the chat over.
func Joined(at time.Time, by, door string, input *Input, to Address) Event {
	return fact(Event{
		Type: OperatorJoined, At: at, By: by, Door: door, Input: input, Address: &to,
		Message: note(called(by) + " has taken over this conversation. The answers from here on are of that person, not yours."),
	})
}

// Heard is the fact that a message came for the operator. Who sent it is answered
// next. Without said it has only changed another one.
func Heard(at time.Time, input Input, said *llm.Message, from *Address) Event {
	return fact(Event{Type: OperatorHeard, At: at, Input: &input, Message: said, Address: from})
}

// Said is the fact that the operator writes, by the order input.
func Said(at time.Time, by, door string, input *Input, text string, reply *Reply) Event {
	said := llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Type: llm.Text, Text: text}}}
	return fact(Event{Type: OperatorSaid, At: at, By: by, Door: door, Input: input, Message: &said, Reply: reply})
}

// Left is the fact that who sent the order input hands the chat back.
func Left(at time.Time, by, door string, input *Input) Event {
	return fact(Event{
		Type: OperatorLeft, At: at, By: by, Door: door, Input: input,
		Message: note(called(by) + " has handed this conversation back to you. You answer again from here on."),
	})
}

// fact is e as it is when it is read back.
func fact(e Event) Event {
	e.At = logged(e.At)
	e.clean()
	return e
}

func called(by string) string {
	if by == "" {
		return "An operator"
	}
	return "The operator " + by
}

// note is what the model is told of the conversation itself, where a user speaks.
func note(text string) *llm.Message {
	m := llm.UserText("[" + text + "]")
	return &m
}

// foldOperator folds what happens to a chat that was taken over. A State that was
// kept is not changed by it.
func (s *State) foldOperator(e *Event) {
	switch e.Type {
	case OperatorJoined:
		s.join(e)
	case OperatorHeard:
		s.hear(e)
	case OperatorSaid:
		if s.Operator != nil {
			o := *s.Operator
			o.Open = nil
			s.Operator = &o
		}
	case OperatorLeft:
		s.Operator = nil
	}
	if e.Message != nil {
		s.add(*e.Message)
	}
}

func (s *State) join(e *Event) {
	o := &Operator{By: e.By, Since: e.At}
	if before := s.Operator; before != nil { // who takes it from another answers what is open
		o.Address, o.Open = before.Address, before.Open
	}
	if e.Address != nil {
		o.Address = *e.Address
	}
	s.Operator = o
}

func (s *State) hear(e *Event) {
	s.dismiss(e)
	if e.Input == nil {
		return
	}
	s.noteWritten(e.Input)
	if s.Operator == nil || e.Message == nil {
		return
	}
	o := *s.Operator
	o.Open = append(slices.Clone(o.Open[max(0, len(o.Open)-mostOpen+1):]), e.Input.OwnID())
	if e.Address != nil {
		o.Address = *e.Address
	}
	s.Operator = &o
}
