package bus

import (
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// Error codes of the server for limits of the account that waiting does not lift.
const (
	errMaxConsumers  jetstream.ErrorCode = 10026
	errMaxStreams    jetstream.ErrorCode = 10027
	errBytesRequired jetstream.ErrorCode = 10113
	errMaxAckPending jetstream.ErrorCode = 10121
)

// ExplainLimit says what would help where err is a limit of the account.
func ExplainLimit(err error) error {
	api, ok := errors.AsType[*jetstream.APIError](err)
	if !ok {
		return err
	}
	cure := map[jetstream.ErrorCode]string{
		errMaxConsumers:  "NATS allows no more consumers; raise max_consumers of the account, or of the stream",
		errMaxStreams:    "the account has no room for the streams and buckets of a fleet, about 20; raise max_streams of the account",
		errBytesRequired: "the account wants max_bytes for each stream, and hosts set none; take max_bytes_required from it, or make the stream by hand, with its subjects and max_bytes",
		errMaxAckPending: "a lane needs more unacknowledged messages than NATS allows a consumer; raise max_ack_pending of the account, or of the server, to 32768",
	}[api.ErrorCode]
	if cure == "" {
		return err
	}
	return fmt.Errorf("%s: %w", cure, err)
}
