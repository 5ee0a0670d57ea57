package bus

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Transient reports whether a refused publish may succeed when it is tried
// again: NATS is away, a stream has no leader or no room just now, it is sealed
// and waits for another in its place, or its cluster is still busy with an earlier copy.
func Transient(err error) bool {
	if errors.Is(err, errNotYet) {
		return true
	}
	if api, ok := errors.AsType[*jetstream.APIError](err); ok {
		switch api.ErrorCode {
		case errStreamFull, errNoStorage, errAccountFull, errNoLimits, errInProcess, errTooMany, errSealed, CodeNoPeers:
			return true
		case CodeNoCluster: // comes with the code of a server's own fault
			return false
		}
		return api.Code >= 500
	}
	return !errors.Is(err, nats.ErrMaxPayload) && !errors.Is(err, nats.ErrConnectionClosed) &&
		!errors.Is(err, nats.ErrBadSubject) && !errors.Is(err, nats.ErrInvalidConnection)
}

// Permanent reports whether NATS refuses a publish, and will however often it is tried again: it
// is too large, say. One that the fence has refused, or that the end of its connection or of its
// time has cut off, is not of these.
func Permanent(err error) bool {
	if api, ok := errors.AsType[*jetstream.APIError](err); ok {
		return !Transient(api) && !Refused(api)
	}
	return errors.Is(err, nats.ErrMaxPayload) || errors.Is(err, nats.ErrBadSubject)
}

// Away reports whether a request has failed because NATS is away: it has not answered
// in time, or the connection is lost.
func Away(err error) bool {
	for _, e := range []error{
		context.DeadlineExceeded, nats.ErrTimeout, nats.ErrNoResponders, nats.ErrDisconnected, nats.ErrConnectionClosed,
		nats.ErrReconnectBufExceeded, // a buffer of no size, see connectOptions
		nats.ErrConnectionReconnecting, jetstream.ErrNoStreamResponse,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// Refused reports whether the server turned a publish down because another
// host has written to its subject since: the fence.
func Refused(err error) bool {
	api, ok := errors.AsType[*jetstream.APIError](err)
	return ok && (api.ErrorCode == errWrongLastSeq || api.ErrorCode == errWrongLastSeqConst)
}

const (
	// CodeNoCluster is the server's error code for replicas on a single server.
	CodeNoCluster jetstream.ErrorCode = 10074
	// CodeNoPeers is that for too few servers of a cluster that could have a replica.
	CodeNoPeers jetstream.ErrorCode = 10005
)

// Error codes of the server that nats.go has no constant for, or not all of.
const (
	errWrongLastSeq      jetstream.ErrorCode = 10071
	errWrongLastSeqConst jetstream.ErrorCode = 10164
	errAccountFull       jetstream.ErrorCode = 10002
	errNoLeader          jetstream.ErrorCode = 10008
	errNoStorage         jetstream.ErrorCode = 10047
	errStreamFull        jetstream.ErrorCode = 10077
	errSealed            jetstream.ErrorCode = 10109 // it is to be deleted and made again
	errNoLimits          jetstream.ErrorCode = 10120 // the account has none for such streams
	errInProcess         jetstream.ErrorCode = 10158 // a message of that Nats-Msg-Id
	errTooMany           jetstream.ErrorCode = 10167 // messages at once
)

// ErrUnusable is wrapped by the refusal of a stream that no host can work with.
var ErrUnusable = errors.New("no host can work with it; delete it, and a host that starts makes it as it should be")
