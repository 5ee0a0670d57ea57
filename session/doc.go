// Package session says whose conversation a message belongs to, and keeps the
// conversations of an agent in a log.
//
// A [Key] names a session within its agent: one per person and channel
// instance, or one per group chat or thread. [SID] turns agent and key into
// the short name that stands in a subject.
//
// What an agent has in memory of its sessions is in package inmemory, and not all of it: the log
// is the truth. Each commit is one message on the session's subject, and the append is fenced, so
// that of two hosts that both believe they own a session only one gets through.
package session
