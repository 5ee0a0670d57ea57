// Package conversation is a session at work. A [Conversation] queues the inputs of the
// session and works on one run at a time, in the order in which its messages came. Package
// runner takes a run from its inputs to its last commit, and sees the conversation as a view.
// Nothing waits for an acknowledgement: a commit that is stored sets off its replies and the next
// run, a reply that is stored sets off the ack of the message it answers.
//
// What is acknowledged is settled: the log holds its replies, the stream has
// them. A conversation whose log holds work that is not settled keeps one
// message unacknowledged, so that the next owner of the lane is brought back to it.
//
// What needs no lock of a session is in packages of its own: mailbox is the queue,
// runner a run at work, inflight the same as its calls see it, answers reads what
// people say to questions, liveask is the questions of tools at work, passon passes on what is
// for another session, replies sends what the log has.
//
// Locks are taken in this order, and nothing that takes time is done under one: the
// conversation, its run or the questions of tools, the slots of the runtime. A function that is called with the lock
// of a conversation held says so; it publishes and acknowledges nothing.
package conversation
