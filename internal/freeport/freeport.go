// Package freeport finds addresses for the servers of tests.
package freeport

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"testing"
)

const first, ports = 20_000, 12_000

// next makes sure that no two tests of a process get the same port, which is free until its
// server is up. Other processes begin elsewhere.
var next = func() *atomic.Uint32 {
	var n atomic.Uint32
	n.Store(rand.Uint32N(ports))
	return &n
}()

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
	const tries = 1000
	for range tries {
		port := first + int(next.Add(1)%ports)
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", fmt.Sprint("127.0.0.1:", port))
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
