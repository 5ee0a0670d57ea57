package agents

import (
	"strings"

	"agenthost/bus"
	"agenthost/internal/texts"
	"agenthost/llm"
	"agenthost/run"
)

// The orders that a person gives in a chat, besides remindWord.
const (
	stopWord = "/stop"
	helpWord = "/help"
	newWord  = "/new"
)

// order is the word of a message that is an order: one that begins with a slash and
// has only letters behind it, whatever their case. What chats of several bots add,
// as in /stop@bot, does not count. Empty: it is no order.
func order(in *bus.Inbound) string {
	if in == nil || len(in.Text) == 0 { // as mostly
		return ""
	}
	text := strings.TrimSpace(in.Text)
	if text == "" || text[0] != '/' || in.Answers != "" {
		return ""
	}
	word, _, _ := strings.Cut(strings.Fields(text)[0], "@")
	word = strings.ToLower(word)
	bare := strings.TrimRight(word, ".!")
	if len(bare) < 2 || len(bare) > maxOrder || strings.Trim(bare[1:], "abcdefghijklmnopqrstuvwxyz_") != "" {
		return ""
	}
	return bare
}

// maxOrder bounds the word of an order; a longer one is text.
const maxOrder = 32

// alone reports whether nothing follows the word of an order.
func alone(in *bus.Inbound) bool { return len(strings.Fields(in.Text)) == 1 }

// stops reports whether it is the order to stop what is under way.
func (it *item) stops() bool {
	return order(it.origin.inbound) == stopWord && alone(it.origin.inbound)
}

// isOrder reports whether the host itself answers a message. A behaviour reads orders
// itself, besides those to stop and to remind.
func (r *Runtime) isOrder(in *bus.Inbound) bool {
	switch word := order(in); word {
	case "":
		return false
	case stopWord, newWord: // with more behind it, it is a message like any other
		return alone(in)
	case remindWord:
		return r.parts.Remind != nil
	default:
		return r.now().behavior == nil
	}
}

// ordered carries out an order. The signal answers in place of the model; nil when
// the message is not an order.
func (t *runner) ordered(o origin) *run.Signal {
	if o.inbound == nil || !t.c.r.isOrder(o.inbound) {
		return nil
	}
	book, word := t.p.texts, order(o.inbound)
	sig := &run.Signal{Kind: run.StreamEnd, Forget: word == newWord}
	text := t.c.r.help(book)
	switch word {
	case stopWord, remindWord:
		return nil
	case newWord:
		text = book.Say("fresh_start")
	case helpWord:
	default:
		text = book.Say("order_unknown", "order", word) + "\n\n" + text
	}
	sig.Message = &llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Type: llm.Text, Text: text}}}
	return sig
}

// help says which orders there are.
func (r *Runtime) help(book texts.Book) string {
	text := book.Say("help")
	if r.parts.Remind != nil {
		text += "\n" + book.Say("help_remind")
	}
	return text
}

// texts are the sentences of the agent.
func (c *conversation) texts() texts.Book { return c.r.now().texts }

// book is texts as they hold for the binding by which an input came.
func (c *conversation) book(it *item) texts.Book { return c.r.now().by(it.origin.subject).texts }
