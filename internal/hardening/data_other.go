//go:build !unix

package hardening

func (*review) data(string) {}
