package message

import (
	"strings"

	"agenthost/bus"
)

// The orders that a person gives in a chat, besides RemindWord.
const (
	StopWord = "/stop"
	HelpWord = "/help"
	NewWord  = "/new"
)

// Order is the word of a message that is an order: one that begins with a slash and
// has only letters behind it, whatever their case. What chats of several bots add,
// as in /stop@bot, does not count, nor what sets off a mention that the channel has taken
// out, as in "/stop, @bot". Empty: it is no order.
func Order(in *bus.Inbound) string {
	if in == nil || len(in.Text) == 0 { // as mostly
		return ""
	}
	text := strings.TrimSpace(in.Said())
	if text == "" || text[0] != '/' || in.Answers != "" {
		return ""
	}
	word, _, _ := strings.Cut(strings.Fields(text)[0], "@")
	word = strings.ToLower(word)
	bare := strings.TrimRight(word, ".!,;:")
	if len(bare) < 2 || len(bare) > maxOrder || strings.Trim(bare[1:], "abcdefghijklmnopqrstuvwxyz_") != "" {
		return ""
	}
	return bare
}

// maxOrder bounds the word of an order; a longer one is text.
const maxOrder = 32

// Alone reports whether nothing follows the word of an order.
func Alone(in *bus.Inbound) bool { return len(strings.Fields(in.Said())) == 1 }

// Stops reports whether it is the order to stop what is under way.
func (it *Item) Stops() bool {
	return Order(it.Origin.Inbound) == StopWord && Alone(it.Origin.Inbound)
}

// StartsAfresh reports whether it is the order that has the model forget what was said before it.
func (it *Item) StartsAfresh() bool {
	return Order(it.Origin.Inbound) == NewWord && Alone(it.Origin.Inbound)
}

// RemindWord begins the chat command for reminders.
const RemindWord = "/remind"
