package mcp

import "time"

// DoubtSoon gives servers that are silent or stalled less time than the product does.
func DoubtSoon() { pingLimit, streamLimit, stallLimit = 2*time.Second, 3*time.Second, 2*time.Second }

// WithoutComplaints is for what no server can be made to say.
var WithoutComplaints = withoutComplaints
