package plugins

import (
	"testing"
	"time"

	"agenthost/bus/filestore"
)

// SetMostHeldBytes changes how much is held until the test ends.
func SetMostHeldBytes(t *testing.T, n int) {
	old := mostHeldBytes
	mostHeldBytes = n
	t.Cleanup(func() { mostHeldBytes = old })
}

// SetLongestLimit changes how long a rate limit counts until the test ends.
func SetLongestLimit(t *testing.T, limit time.Duration) {
	old := longestLimit
	longestLimit = limit
	t.Cleanup(func() { longestLimit = old })
}

// Files is the store of the courier.
func (c *Courier) Files() *filestore.Store { return c.parts.Files }
