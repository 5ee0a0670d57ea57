package bus

import (
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// largestPiece is how the client library divides a file where nothing is said.
const largestPiece = 128 << 10

// FileMeta is what AGENT_FILES is told of a file: its name, and that it comes in pieces
// that fit into a message. A server may take less in one than the pieces of the library have.
func FileMeta(nc *nats.Conn, name string) jetstream.ObjectMeta {
	return jetstream.ObjectMeta{Name: name, Opts: &jetstream.ObjectMetaOptions{
		ChunkSize: uint32(min(largestPiece, nc.MaxPayload()/2)), //nolint:gosec // 128 KiB at most
	}}
}
