// Package simulation runs a fleet of hosts in one process, one step at a time, by a seed.
//
// What runs is the product: the lanes, mailboxes, runs, session logs and outboxes of
// agents/engine with its own goroutines, over the client of NATS. In place of the server is
// memnats, which keeps streams, consumers and schedules in memory; in place of a model and of tools with
// effects are gates. The smallest seam between them is the one that is there: the connection. Nothing of the product knows of it.
//
// All goroutines are in a bubble of testing/synctest. The scheduler waits until each of them waits for
// something outside of its host, and then lets one thing happen, which the seed chooses: the server takes one message of
// a host, a host gets one message, a model or a tool goes on, a person says something, time passes. A plan, of
// the same seed, says who says what, how people answer what they are asked, which agents are woken when, how many
// partitions there are, and what goes wrong: see [Plan] and [Fault]. In the end what the streams hold is
// checked as that of a fleet under chaos is.
//
// A host that dies loses its connection and whatever it has sent that the server has not
// taken. Its goroutines end when they notice; what they do until then has no effect.
//
// A seed has one trace where nothing is left to chance: with the tag ordered and the
// overlay of internal/simulation/overlay, which has the order of selects, of timers and of
// maps follow from the seed as well. Without these most seeds have one trace.
//
// Two things are unlike NATS. A client that waits for the answer to a new connection, or to a
// new push consumer, holds a lock meanwhile, and who waits for a lock keeps a bubble from going on: so
// the first is answered at once, and the answer to the second is never lost alone.
package simulation
