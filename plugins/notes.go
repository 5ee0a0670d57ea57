package plugins

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"agenthost/bus"
	"agenthost/bus/publishing"
	"agenthost/bus/records"

	"github.com/nats-io/nats.go"
)

// notes keep how far an account has come, in AGENT_CHANNELS, for its next owner.
type notes struct {
	account   Account
	publisher *publishing.Publisher
	reader    *records.Reader
}

// key is <channel>.<instance, or =>.<kind>.<name>; name is any text.
func (n notes) key(kind, name string) string {
	instance := n.account.Instance
	if instance == "" {
		instance = "="
	}
	return n.account.Channel + "." + instance + "." + kind + "." + name
}

// hashed is a name in place of an id, which may hold anything.
func hashed(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:16])
}

// read returns nil where there is nothing.
func (n notes) read(ctx context.Context, key string) ([]byte, error) {
	rec, err := n.reader.Entry(ctx, bus.ChannelsBucket, key)
	if errors.Is(err, records.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read note of %s: %w", n.account, err)
	}
	return rec.Data, nil
}

// keep writes a note unless there is one, and returns the one that there is, and since
// when. Of several hosts that write at once one does.
func (n notes) keep(ctx context.Context, key string, value []byte, life time.Duration) (note []byte, since time.Time, err error) {
	for {
		rec, err := n.reader.Entry(ctx, bus.ChannelsBucket, key)
		if err == nil {
			return rec.Data, rec.Time, nil
		}
		if !errors.Is(err, records.ErrNotFound) {
			return nil, time.Time{}, fmt.Errorf("read note of %s: %w", n.account, err)
		}
		msg := noteMessage(key, value, life)
		msg.Header.Set(nats.ExpectedLastSubjSeqHdr, strconv.FormatUint(rec.Seq, 10))
		_, err = n.publisher.PublishWait(ctx, msg)
		switch {
		case err == nil:
			return value, time.Now(), nil
		case !bus.Refused(err): // else there is one by now, perhaps this one
			return nil, time.Time{}, fmt.Errorf("write note of %s: %w", n.account, err)
		}
	}
}

// write returns once it is stored; while NATS is away it waits until ctx ends. The
// note expires after keep, 0 is never.
func (n notes) write(ctx context.Context, key string, value []byte, keep time.Duration) error {
	if _, err := n.publisher.PublishWait(ctx, noteMessage(key, value, keep)); err != nil {
		return fmt.Errorf("write note of %s: %w", n.account, err)
	}
	return nil
}

// writeSoon is write without waiting.
func (n notes) writeSoon(key string, value []byte, keep time.Duration) {
	n.publisher.Publish(noteMessage(key, value, keep), func(uint64, bool, error) {})
}

func (n notes) deleteSoon(key string) {
	msg := noteMessage(key, nil, 0)
	msg.Header.Set("KV-Operation", "DEL")
	n.publisher.Publish(msg, func(uint64, bool, error) {})
}

func noteMessage(key string, value []byte, keep time.Duration) *nats.Msg {
	msg := nats.NewMsg("$KV." + bus.ChannelsBucket + "." + key)
	msg.Data = value
	if keep > 0 {
		msg.Header.Set("Nats-TTL", strconv.Itoa(int(keep/time.Second))+"s")
	}
	return msg
}

// A progress is how many of the parts of a reply the platform has taken.
type progress struct {
	Taken int `json:"taken"`
	Parts int `json:"parts"`
}

// replyKey is that of the progress of a reply.
func (n notes) replyKey(reply string) string { return n.key("reply", hashed(reply)) }

func (n notes) progress(ctx context.Context, reply string, parts int) (int, error) {
	data, err := n.read(ctx, n.replyKey(reply))
	p := progress{}
	if err != nil || data == nil || json.Unmarshal(data, &p) != nil {
		return 0, err
	}
	return p.of(parts), nil
}

// of is how many of so many parts are taken. A reply that is cut otherwise now begins again, unless
// all of it was taken.
func (p progress) of(parts int) int {
	switch {
	case p.Parts > 0 && p.Taken == p.Parts:
		return parts
	case p.Parts == parts:
		return p.Taken
	}
	return 0
}

// noteRoom is how much longer than it can come a reply is remembered.
const noteRoom = 2 * time.Hour

func (n notes) setProgress(ctx context.Context, reply string, taken, parts int, keep time.Duration) error {
	data, err := json.Marshal(progress{taken, parts})
	if err != nil {
		return err
	}
	return n.write(ctx, n.replyKey(reply), data, keep)
}

// A holder is the host that owned the account last. Done is set in place of it when the
// account's consumer was removed: the last reply that is settled.
type holder struct {
	Host string `json:"host,omitempty"`
	Pin  string `json:"pin,omitempty"`
	Done uint64 `json:"done,omitempty"`
}

func (n notes) holder(ctx context.Context) (h holder, err error) {
	data, err := n.read(ctx, n.key("owner", "now"))
	if data != nil && err == nil {
		_ = json.Unmarshal(data, &h) // one that cannot be read costs a few seconds
	}
	return h, err
}

func (n notes) setHolder(h holder) {
	data, _ := json.Marshal(h) // two strings always marshal
	n.writeSoon(n.key("owner", "now"), data, 0)
}

// channelKey is that of a note of the channel itself.
func (n notes) channelKey(name string) string {
	return n.key("channel", base64.RawURLEncoding.EncodeToString([]byte(name))+"_")
}
