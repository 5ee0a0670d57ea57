// Package client talks to a running fleet from outside: it sends messages and
// waits for replies, follows a reply while a model writes it, answers approvals
// and questions, stops runs, and reads and changes sessions, dead letters,
// schedules, notes, models and configuration.
//
// A [Client] is one connection to the NATS of a fleet. It is safe for concurrent
// use, connects again by itself, and needs no host for what NATS keeps: messages
// and answers are stored and wait for the next host, and sessions, dead letters,
// schedules and notes can be read meanwhile. Only what hosts alone know, such as
// [Client.Hosts], [Client.Reload] and [Client.SetBreaker], needs one that runs.
//
// [Client.Ask] is a message and its reply in one call. A [Conversation] has more:
// pieces of the reply as they come, without gap or repeat, and the approvals and
// questions that come before it.
//
// Every call takes a context first. An error says what failed and what helps;
// [Client.Explain] adds what the connection knows, such as a permission that is
// missing.
package client
