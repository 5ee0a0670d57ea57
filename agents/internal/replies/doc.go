// Package replies sends the replies of a session: those that the log has, in its order, and
// what a message is told outside of any run.
//
// A [Sender] publishes a reply after all before it are stored. It needs no goroutine: it goes on
// in the callbacks of what is stored. After a takeover it looks for what an owner before has
// committed and not published, sends that first, and remembers how far it has looked: what comes
// again later and is within that needs no look of its own.
//
// A Sender has a lock of its own, never around another. Its functions are called with no lock
// held, but for [Sender.CaughtUp] and [Sender.Sending].
package replies
