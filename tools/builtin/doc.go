// Package builtin is the tools that need nothing but the host: the time, a
// question to a person, a task for another agent, files, commands and web
// pages.
//
// Files are reached through an os.Root of the agent's workspace, so that no
// path, link or race of links leads out of it. A command runs in a process
// group of its own, which is dead when the call returns, and in a sandbox where
// the kernel gives one: see package sandbox. A web page is fetched only from
// addresses that are public or allowed, which is checked on the address that is
// dialled, and again for every redirect.
//
// All tools may be called at the same time. Calls of one agent that change
// files wait for each other.
package builtin
