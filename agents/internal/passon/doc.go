// Package passon passes on what is written in one session and is for a run of another: the
// answer to a question, or an order to stop. The run works for an agent that is in this chat, or
// was begun by the clock or an event and has asked here.
//
// A [Passer] has no state and ends no message. It says what became of an input by an [Outcome],
// and the session of the input ends it by that. What comes again is passed on once: the messages
// that it was passed on by are looked through for it first.
//
// [Passer.Pass] takes its time: it reads, calls hooks and waits until what it publishes is
// stored. [Passer.MayPass] may be called with the lock of a conversation held.
package passon
