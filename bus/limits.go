package bus

import (
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// Error codes of the server for limits that waiting does not lift.
const (
	errServerFull    jetstream.ErrorCode = 10023
	errMaxConsumers  jetstream.ErrorCode = 10026
	errMaxStreams    jetstream.ErrorCode = 10027
	errBytesRequired jetstream.ErrorCode = 10113
	errMaxAckPending jetstream.ErrorCode = 10121
)

// ExplainLimit says what would help where err is a limit of the account, or of a server.
func ExplainLimit(err error) error {
	if cure := limitCure(err); cure != "" {
		return fmt.Errorf("%s: %w", cure, err)
	}
	return err
}

// Limited reports whether ExplainLimit knows what would help.
func Limited(err error) bool { return limitCure(err) != "" }

func limitCure(err error) string {
	api, ok := errors.AsType[*jetstream.APIError](err)
	if !ok {
		return ""
	}
	const room = "the store of a server of NATS is full; raise max_file_store there, as far as its disk has room, and restart it"
	return map[jetstream.ErrorCode]string{
		errAccountFull:   "the account has no storage left; raise max_file in its jetstream block, or in its JWT. The host goes on by itself then",
		errServerFull:    room,
		errNoStorage:     room,
		errMaxConsumers:  "NATS allows no more consumers; raise max_consumers of the account, or of the stream",
		errMaxStreams:    "the account has no room for the streams and buckets of a fleet, about 20; raise max_streams of the account",
		errBytesRequired: "the account wants max_bytes for each stream, and hosts set none; take max_bytes_required from it, or make the stream by hand, with its subjects and max_bytes",
		errMaxAckPending: "a lane needs more unacknowledged messages than NATS allows a consumer; raise max_ack_pending of the account, or of the server, to 32768",
	}[api.ErrorCode]
}
