// Package a2a is the door of the Agent2Agent protocol, version 1.0, over JSON-RPC.
//
// A task is a run, named by its context and the message that began it; a context is a
// session. What a task has come to is read from the session's log, so it is known after
// a restart, and at every host. See docs/doors/a2a.md.
package a2a
