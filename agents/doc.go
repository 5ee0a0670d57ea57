// Package agents is what a program needs to know of agents: their settings, a [Behavior]
// written in Go and what it is given and returns, and what a running fleet says of them.
// Package engine runs them.
package agents
