package backup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"agenthost/bus"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// answerWithin is how long the server may take to begin.
	answerWithin = 20 * time.Second
	// chunkWithin is how long it may take for one chunk.
	chunkWithin = time.Minute

	// A chunk is much smaller than a message may be; window is what is under way unasked,
	// which the client has to hold.
	chunkBytes  = 128 << 10
	windowBytes = 8 << 20
)

// oldestServer is the first whose snapshots say message for message what a stream has.
const oldestServer = "2.15"

// oldServer is an error when the server is too old.
func oldServer(js jetstream.JetStream) error {
	version := js.Conn().ConnectedServerVersion()
	var major, minor int
	if _, err := fmt.Sscanf(version, "%d.%d", &major, &minor); err == nil && (major < 2 || major == 2 && minor < 15) {
		return fmt.Errorf("NATS here is %s; backup and restore need %s or later", version, oldestServer)
	}
	return nil
}

// A snapshotAnswer is what the server says before the chunks.
type snapshotAnswer struct {
	Error  *jetstream.APIError `json:"error"`
	Config json.RawMessage     `json:"config"`
	State  json.RawMessage     `json:"state"`
}

// snapshot copies a stream with its consumers to out.
func snapshot(ctx context.Context, js jetstream.JetStream, stream string, out io.Writer) (a snapshotAnswer, err error) {
	nc := js.Conn()
	inbox := nc.NewInbox()
	chunks, err := nc.SubscribeSync(inbox)
	if err != nil {
		return a, err
	}
	defer func() { _ = chunks.Unsubscribe() }() // the connection may be gone
	if err := chunks.SetPendingLimits(-1, 2*windowBytes); err != nil {
		return a, err
	}
	ask := map[string]any{"deliver_subject": inbox, "chunk_size": min(chunkBytes, int(nc.MaxPayload()/2)), "window_size": windowBytes}
	if err := request(ctx, js, "STREAM.SNAPSHOT."+stream, ask, &a); err != nil {
		return a, err
	}
	if a.Error != nil {
		return a, a.Error
	}
	for {
		msg, err := within(ctx, chunkWithin, chunks.NextMsgWithContext)
		if err != nil {
			return a, fmt.Errorf("wait for the next part: %w", err)
		}
		if len(msg.Data) == 0 {
			return a, ended(msg)
		}
		if _, err := out.Write(msg.Data); err != nil {
			return a, err
		}
		if msg.Reply == "" { // the last one
			continue
		}
		if err := msg.Respond(nil); err != nil {
			return a, err
		}
	}
}

// ended is the error of a snapshot that did not come to its end.
func ended(last *nats.Msg) error {
	if status := last.Header.Get("Status"); status != "" && status != "204" {
		return errors.New("the server gave up: " + status + " " + last.Header.Get("Description"))
	}
	return nil
}

// within calls do with a deadline.
func within[T any](ctx context.Context, d time.Duration, do func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	return do(ctx)
}

// request asks the API of JetStream.
func request(ctx context.Context, js jetstream.JetStream, subject string, ask, answer any) error {
	data, err := json.Marshal(ask)
	if err != nil {
		return err
	}
	msg, err := within(ctx, answerWithin, func(ctx context.Context) (*nats.Msg, error) {
		return js.Conn().RequestWithContext(ctx, bus.APIPrefix(js)+subject, data)
	})
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return fmt.Errorf("no answer to %s within %s; does NATS allow it to this user? docs/operations.md#backup lists what is needed: %w",
			subject, answerWithin, err)
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(msg.Data, answer)
}
