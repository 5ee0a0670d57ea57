// Package answers reads an input of a session as the answer to what a run of it has asked, and
// says why one may not be.
package answers

import "agenthost/agents/internal/inflight"

// A Reader reads the answers of one session.
type Reader struct{ inflight.Session }
