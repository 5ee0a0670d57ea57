// Package freeport finds addresses for the servers of tests.
package freeport

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
)

// Address is Addresses for one.
func Address(t testing.TB) string {
	t.Helper()
	return Addresses(t, 1)[0]
}

// Port is the port of an Address.
func Port(t testing.TB) string {
	t.Helper()
	_, port, _ := net.SplitHostPort(Address(t))
	return port
}

// Addresses are some of this machine at which nothing listens. Their ports are below those that
// Linux gives to connections: one of these could have it before the server is up.
func Addresses(t testing.TB, n int) (list []string) {
	t.Helper()
	const first, ports, tries = 20_000, 12_000, 1000
	for range tries {
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", fmt.Sprint("127.0.0.1:", first+rand.IntN(ports)))
		if err != nil { // taken
			continue
		}
		defer func() { _ = l.Close() }() // once all are known
		if list = append(list, l.Addr().String()); len(list) == n {
			return list
		}
	}
	t.Fatalf("no %d ports are free from %d on", n, first)
	return nil
}
