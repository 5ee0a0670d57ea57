package host

import (
	"agenthost/agents"
	"agenthost/session"
	"agenthost/tools/builtin"
)

// Begin has to be called first in the main function of a program that runs
// hosts: the program is also what puts the commands of agents into their
// sandbox, and then Begin does not return.
func Begin() { builtin.SandboxMain() }

// A Chunk is a piece of an answer as it comes; see StreamSubject.
type Chunk = agents.Chunk

// StreamSubject is where an agent streams what it answers to who sends it
// delegates under that name and correlation id.
func StreamSubject(agent, from, correlationID string) string {
	return agents.StreamSubject(agent, session.Route(from, correlationID))
}
