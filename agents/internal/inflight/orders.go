package inflight

import (
	"context"
	"strings"
	"time"

	"agenthost/agents/internal/message"
	"agenthost/agents/internal/profile"
	"agenthost/bus"
	"agenthost/internal/texts"
	"agenthost/llm"
	"agenthost/run"
)

// IsOrder reports whether the host itself answers a message. A behaviour reads orders
// itself, besides those to stop and to remind.
func (s Session) IsOrder(in *bus.Inbound) bool {
	switch word := message.Order(in); word {
	case "":
		return false
	case message.StopWord, message.NewWord: // with more behind it, it is a message like any other
		return message.Alone(in)
	case message.RemindWord:
		return s.Agent.Parts.Remind != nil
	default:
		return s.Agent.Now().Behavior == nil
	}
}

// Ordered carries out an order. The signal answers in place of the model; nil when
// the message is not an order.
func (t *Run) Ordered(o message.Origin) *run.Signal {
	if o.Inbound == nil || !t.IsOrder(o.Inbound) {
		return nil
	}
	book, word := t.Profile.Texts, message.Order(o.Inbound)
	sig := &run.Signal{Kind: run.StreamEnd, Forget: word == message.NewWord}
	text := t.Agent.help(book)
	switch word {
	case message.StopWord, message.RemindWord:
		return nil
	case message.NewWord:
		text = book.Say("fresh_start")
	case message.HelpWord:
	default:
		text = book.Say("order_unknown", "order", word) + "\n\n" + text
	}
	sig.Message = &llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Type: llm.Text, Text: text}}}
	return sig
}

// help says which orders there are.
func (a *Agent) help(book texts.Book) string {
	text := book.Say("help")
	if a.Parts.Remind != nil {
		text += "\n" + book.Say("help_remind")
	}
	return text
}

// reminding reports whether a person's message is that command, and what
// follows the word.
func (a *Agent) reminding(in *bus.Inbound) (rest string, ok bool) {
	if in == nil || a.Parts.Remind == nil {
		return "", false
	}
	if message.Order(in) != message.RemindWord {
		return "", false
	}
	text := strings.TrimSpace(in.Said())
	return strings.TrimPrefix(text, strings.Fields(text)[0]), true
}

// Command carries out a chat command. The signal answers in place of the model;
// nil when the message is none.
func (t *Run) Command(ctx context.Context, o message.Origin, id string) *run.Signal {
	rest, ok := t.Agent.reminding(o.Inbound)
	if !ok {
		return nil
	}
	text := profile.NotRun
	if !t.Agent.Now().Shadow() {
		text = t.Agent.Parts.Remind(ctx, t.Profile.Texts, id, message.Sender(o.Inbound), *t.Person(), rest)
	}
	answer := llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Type: llm.Text, Text: text}}}
	return &run.Signal{Kind: run.StreamEnd, At: time.Now(), Run: t.ID, Message: &answer}
}
