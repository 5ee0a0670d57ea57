// Package session says whose conversation a message belongs to, and keeps the
// conversations of an agent: those in use in memory, all of them in a log.
//
// A [Key] names a session within its agent: one per person and channel
// instance, or one per group chat or thread. [SID] turns agent and key into
// the short name that stands in a subject.
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
// What was dropped is not lost. The log is the truth: each commit is one
// message on the session's subject, and the append is fenced, so that of two
// hosts that both believe they own a session only one gets through.
package session
