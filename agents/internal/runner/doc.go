// Package runner is a run at work, from its inputs to its last commit. A [Runner] drives the
// machine of package run and performs its effects: it asks the model, uses tools, commits what
// happened to the log of the session, and sends the replies that go out during the run.
//
// A run begins in one of four ways: [Runner.Start] with new inputs, [Runner.Resume] where an owner
// before has left it, [Runner.GoOn] with the answer that it was suspended for, and
// [Runner.AskAgain] with questions that may not have been heard. Each returns when the last commit
// is on its way, or with the reason why it failed. What comes into the session meanwhile is
// the business of its [Conversation]: it pokes the run, which takes what is meant for it.
//
// A Runner is used by one goroutine, that of the session's work. Calls under way have goroutines of
// their own, and give their results to it as signals. It has no lock, but that of [inflight.Run];
// the functions of the conversation are called without that.
package runner
