// Package agents runs the configured agents: one [Runtime] each, fed by the
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
// What needs no conversation and no run is in packages of its own: lanes brings messages
// to agents, outbox publishes replies in order, ask keeps what waits for an answer, budget
// what may be spent, stream what a model says as it comes, gate lets suspected runs in one
// at a time.
//
// Locks are taken in this order, and nothing that takes time is done under one: the fleet,
// the runtime, a conversation, a runner, an outbox.
package agents
