package web

import "time"

// RefuseSoon has a message refused in less time than the product waits for NATS.
func RefuseSoon() { storeWithin = 2 * time.Second }
