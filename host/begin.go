package host

import "agenthost/internal/sandbox"

// Begin has to be called first in the main function of a program that runs
// hosts: the program is also what puts the commands of agents into their
// sandbox, and then Begin does not return.
func Begin() { sandbox.Main() }
