// Package discord is a channel of Discord: one bot, by its gateway and its REST API.
//
// The gateway numbers what it sends, and a session of it can be resumed from any of
// its last numbers. A number counts as read when JetStream has the message. The
// session and the number are a note of the account, so the next owner goes on where
// the last one was killed. When Discord has dropped the session, what was written
// meanwhile is read by REST, as far as the bot may read the history.
//
// A reply has a nonce made from its key, which Discord takes once within a few
// minutes.
package discord
