// Package liveask is the questions that tools ask the person of a session while they run. Such
// a question lives as long as its call: no log has it, and it does not outlive its host. The
// questions of runs that are suspended are in package answers, and in the log.
//
// The [Questions] of a session are numbered and put one after the other, and several may be open.
// [Questions.Ask] waits for the answer, as long as the agent gives a person to approve. What
// comes into the session meanwhile is shown to [Questions.Take], which gives an answer to the
// tool that it is for. It waits for nothing: where hooks have to see the answer first, it hands
// back what has them do so.
//
// Questions have a lock of their own. It may be taken while that of the conversation is held,
// never the other way round, and nothing is published or called back under it.
package liveask
