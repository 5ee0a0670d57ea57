// Package interop is agenthost/internal/interop, for the tests of channels.
package interop

import "agenthost/internal/interop"

// The same functions.
var (
	Program = interop.Program
	Node    = interop.Node
)
