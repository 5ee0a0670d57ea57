// Package telegram is a channel of Telegram: one bot, by the Bot API.
//
// Messages come by long polling, or by a webhook. With polling the offset is the
// acknowledgement: Telegram gives an update again until a later one is asked for,
// and that happens when JetStream has the message. A webhook is answered with 200
// at that moment, and Telegram repeats what was answered otherwise.
//
// Telegram has no key by which it knows a message that is sent twice. When an
// answer of the API is lost, the message is sent again: the one message that was
// under way may come twice.
package telegram
