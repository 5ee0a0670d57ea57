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

// storeWithin is how long the server may take to have a stream ready once it has all of it.
const storeWithin = 5 * time.Minute

// send restores a stream from an archive.
func send(ctx context.Context, js jetstream.JetStream, stream string, config, state json.RawMessage, archive io.Reader) error {
	var a struct {
		Error *jetstream.APIError `json:"error"`
		To    string              `json:"deliver_subject"`
	}
	if err := request(ctx, js, "STREAM.RESTORE."+stream, map[string]any{"config": config, "state": state}, &a); err != nil {
		return err
	}
	if a.Error != nil {
		return a.Error
	}
	chunk := make([]byte, min(chunkBytes, int(js.Conn().MaxPayload()/2)))
	for {
		n, err := io.ReadFull(archive, chunk)
		if n > 0 {
			if err := sendChunk(ctx, js.Conn(), a.To, chunk[:n], chunkWithin); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
			return sendChunk(ctx, js.Conn(), a.To, nil, storeWithin)
		case err != nil:
			return err
		}
	}
}

// sendChunk sends a part of the archive; nothing is its end.
func sendChunk(ctx context.Context, nc *nats.Conn, to string, data []byte, d time.Duration) error {
	msg, err := within(ctx, d, func(ctx context.Context) (*nats.Msg, error) { return deliver(ctx, nc, to, data) })
	if err != nil {
		return fmt.Errorf("send the next part: %w", err)
	}
	if len(msg.Data) == 0 {
		return nil
	}
	var a struct {
		Error *jetstream.APIError `json:"error"`
	}
	if err := json.Unmarshal(msg.Data, &a); err != nil {
		return err
	}
	if a.Error != nil {
		return a.Error
	}
	return nil
}

// deliver sends a part until a server takes it: in a cluster the others learn only now
// which of them restores the stream.
func deliver(ctx context.Context, nc *nats.Conn, to string, data []byte) (*nats.Msg, error) {
	for end := time.Now().Add(answerWithin); ; {
		msg, err := nc.RequestWithContext(ctx, to, data)
		if !errors.Is(err, nats.ErrNoResponders) || time.Now().After(end) {
			return msg, err
		}
		bus.Pause(ctx, deliverAgain)
	}
}

const deliverAgain = 50 * time.Millisecond
