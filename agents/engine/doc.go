// Package engine runs the configured agents: one [Runtime] each, fed by the
// lanes of the bus, all of them held by a [Fleet].
//
// A message is handled like this. The lane delivers it to the inbox of a runtime, which
// decodes it and queues it with its session. Package conversation is a session at work: it
// runs what the session has to do, one run at a time, when the runtime has a slot for it. A
// slow session delays no other.
//
// What needs neither a runtime nor the lock of a session is in packages of its own: lanes
// brings messages to agents, intake decodes them and ends what cannot be taken, budget counts
// what is spent.
//
// Locks are taken in this order, and nothing that takes time is done under one: the fleet,
// the division of an agent, a conversation, a run, the slots of a runtime.
package engine
