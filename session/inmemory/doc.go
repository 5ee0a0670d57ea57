// Package inmemory holds those sessions of an agent that are in use.
//
// A [Manager] holds an agent's sessions in memory, bounded by idle time and by
// number. It promises:
//
//   - one live entry per key, and New called once for each;
//   - an entry with work in flight is neither expired nor evicted, and if it
//     is deleted it stays until its last Release;
//   - at the cap the session that has been idle longest goes first: exactly
//     that one, and at the same cost whatever the number of sessions;
//   - OnExpire runs once for each dropped entry, with the reason, outside every
//     lock. An entry dropped by a call (cap, deleted) has had its OnExpire when
//     that call returns; those dropped by the sweep get theirs beside it, so
//     that a slow one delays neither the sweep nor a message.
//
// An entry is out of the Manager before its OnExpire runs: a new entry of the
// same key may be made before, during or after that call.
//
// What was dropped is not lost: the log has it.
package inmemory
