// Package acp is the door for editors that speak the Agent Client Protocol: an agent on
// the two streams of a program that the editor starts.
//
// A session of the editor is one of the agent, which any later program goes on with, and
// a prompt is a message in it. The protocol is a line of JSON a message, small enough to
// be spoken without a library.
package acp
