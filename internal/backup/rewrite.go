package backup

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"agenthost/bus"
	"agenthost/bus/delivery"

	"github.com/klauspost/compress/s2"
	"github.com/nats-io/nats-server/v2/server/archive"
	"github.com/nats-io/nats.go/jetstream"
)

// rewrite writes the archive that a stream is restored from: the one that was copied, with
// the messages of late behind its own, its lanes where they were at the moment of the
// backup, and without the consumers of connections that are gone. late may be nil.
func rewrite(out io.Writer, main, late io.Reader, s Stream) error {
	in := archive.NewReader(s2.NewReader(main))
	w := newArchiveWriter(out)
	consumers, first, err := keptConsumers(in, s)
	if err != nil {
		return err
	}
	if err := w.state(s, len(consumers)); err != nil {
		return err
	}
	for _, c := range consumers {
		if err := w.add(c.header, c.data); err != nil {
			return err
		}
	}
	if err := w.copyMessages(in, first); err != nil {
		return err
	}
	if late != nil {
		more := archive.NewReader(s2.NewReader(late))
		h, err := more.Next()
		if err == nil {
			err = w.copyMessages(more, h)
		}
		if err != nil {
			return err
		}
	}
	return w.end()
}

// An entry is one of an archive.
type entry struct {
	header archive.Header
	data   []byte
}

// keptConsumers reads an archive up to its first message, or its end, which is returned.
func keptConsumers(in *archive.Reader, s Stream) (kept []entry, first *archive.Header, err error) {
	var state json.RawMessage
	if _, err := readState(in, &state); err != nil {
		return nil, nil, err
	}
	for {
		h, err := in.Next()
		if err != nil {
			return nil, nil, incomplete(err)
		}
		name, ok := consumerOf(h)
		if !ok {
			return kept, h, nil
		}
		data, err := io.ReadAll(in)
		if err != nil {
			return nil, nil, err
		}
		data, keep, err := restoredConsumer(name, data, s)
		if err != nil {
			return nil, nil, fmt.Errorf("consumer %s: %w", name, err)
		}
		if keep {
			header := *h
			header.PayloadSize = int64(len(data))
			kept = append(kept, entry{header, data})
		}
	}
}

// copyMessages copies the messages of in, of which h is the first, up to the end.
func (w archiveWriter) copyMessages(in *archive.Reader, h *archive.Header) (err error) {
	for ; !isEnd(h); h, err = in.Next() {
		if err != nil {
			return incomplete(err)
		}
		if err := w.WriteHeader(h); err != nil {
			return err
		}
		if _, err := io.Copy(w, in); err != nil {
			return err
		}
	}
	return nil
}

func incomplete(err error) error {
	if errors.Is(err, io.EOF) {
		return errIncomplete
	}
	return err
}

// state writes the first entry.
func (w archiveWriter) state(s Stream, consumers int) error {
	var state map[string]any
	d := json.NewDecoder(strings.NewReader(string(s.State)))
	d.UseNumber() // sequences may be too large for a float64
	if err := d.Decode(&state); err != nil {
		return err
	}
	first := s.FirstSeq
	if first == 0 && s.LastSeq > 0 { // it was empty when it was copied
		first = 1
	}
	state["first_seq"], state["last_seq"], state["consumer_count"], state["messages"] = first, s.LastSeq, consumers, s.Messages
	data, err := json.Marshal(state)
	if err != nil {
		return err
	}
	return w.add(archive.Header{Name: stateEntry, PayloadSize: int64(len(data))}, data)
}

// restoredConsumer is what a consumer is restored from; keep: it is.
func restoredConsumer(name string, data []byte, s Stream) (changed []byte, keep bool, err error) {
	var c struct {
		Config json.RawMessage `json:"config"`
		State  json.RawMessage `json:"state"`
	}
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, false, err
	}
	var cfg jetstream.ConsumerConfig
	if err := json.Unmarshal(c.Config, &cfg); err != nil {
		return nil, false, err
	}
	floor, known := s.Floors[name]
	switch {
	case cfg.Durable == "": // of a connection that is gone
		return nil, false, nil
	case !slices.Contains(bus.LaneStreams(), s.Name) || !delivery.OfLane(cfg):
		return data, true, nil
	case !known: // made since the moment of the backup; the next host makes it again
		return nil, false, nil
	}
	if c.State, err = json.Marshal(map[string]Floor{"delivered": floor, "ack_floor": floor}); err != nil {
		return nil, false, err
	}
	changed, err = json.Marshal(c)
	return changed, true, err
}

// restoredConfig is the configuration of a stream without what only the server says in
// it, and with another number of replicas where that is not 0.
func restoredConfig(config json.RawMessage, replicas int) (json.RawMessage, error) {
	var c map[string]json.RawMessage
	if err := json.Unmarshal(config, &c); err != nil {
		return nil, err
	}
	var metadata map[string]string
	if len(c["metadata"]) > 0 {
		if err := json.Unmarshal(c["metadata"], &metadata); err != nil {
			return nil, err
		}
	}
	for key := range metadata {
		if strings.HasPrefix(key, "_nats.") {
			delete(metadata, key)
		}
	}
	var err error
	if c["metadata"], err = json.Marshal(metadata); err == nil && replicas > 0 {
		c["num_replicas"], err = json.Marshal(replicas)
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(c)
}
