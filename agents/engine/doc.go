// Package engine runs the configured agents: one [Runtime] each, fed by the
// lanes of the bus.
//
// A message is handled like this. The lane delivers it; the runtime decodes it
// and queues it with its session, the conversation. A conversation works on one
// run at a time, in the order in which its messages came; a slow one delays no
// other. A run drives the machine of package run and performs its effects: it
// asks the model, commits what happened to the session's log, publishes the
// replies. Nothing waits for an acknowledgement: a commit that is stored sets
// off its replies and the conversation's next run, a reply that is stored sets
// off the ack of the message it answers.
//
// What is acknowledged is settled: the log holds its replies, the stream has
// them. A conversation whose log holds work that is not settled keeps one
// message unacknowledged, so that whoever serves the lane next is brought back
// to it.
//
// What needs no lock of a session is in packages of its own: lanes brings messages to agents,
// intake decodes them and ends what cannot be taken, mailbox is the queue of a session,
// inflight a run as its calls see it, modelcall and toolcall make these, answers reads what
// people say to questions, outbox publishes replies in order, budget counts what is spent.
//
// Locks are taken in this order, and nothing that takes time is done under one: the fleet,
// a conversation, a run, the runtime. What is called with the lock of a conversation held
// stands in queue.go, changes.go and locked.go. Nothing is published or acknowledged there.
package engine
