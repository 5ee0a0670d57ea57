// Package budget keeps what an agent may spend and has spent.
//
// A [Ledger] is shared by all hosts of a fleet: its records are in the bucket
// AGENT_SPEND and are changed by compare and set. Before a call of a model begins, a
// [Hold] reserves what it may cost; what it has cost takes the place of that. A
// reservation whose host died expires and counts as spent.
package budget
