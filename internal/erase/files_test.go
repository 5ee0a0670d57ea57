package erase_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/filestore"
	"agenthost/internal/erase"
	"agenthost/internal/erasure"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A moment calls once what happens at a moment of an erasure: before the bucket is told that a
// file is gone, or before its content is written over.
type moment struct {
	jetstream.JetStream
	deleting, overwriting func()
}

func (m *moment) PublishMsg(ctx context.Context, msg *nats.Msg, opts ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	if strings.HasPrefix(msg.Subject, "$O."+bus.FilesBucket+".M.") && strings.Contains(string(msg.Data), `"deleted":true`) {
		m.deleting()
	}
	return m.JetStream.PublishMsg(ctx, msg, opts...)
}

func (m *moment) Stream(ctx context.Context, name string) (jetstream.Stream, error) {
	s, err := m.JetStream.Stream(ctx, name)
	if err == nil && name == "OBJ_"+bus.FilesBucket {
		s = overwritten{s, m}
	}
	return s, err
}

type overwritten struct {
	jetstream.Stream
	*moment
}

func (s overwritten) SecureDeleteMsg(ctx context.Context, seq uint64) error {
	s.overwriting()
	return s.Stream.SecureDeleteMsg(ctx, seq)
}

// A file that another person sends at the moment at which it is erased stays. What no other person has
// sent goes, with what the bucket has said of it.
func TestRunKeepsAFileThatIsSentAgain(t *testing.T) {
	t.Parallel()
	for name, when := range map[string]func(*moment, func()){
		"before it is deleted":        func(m *moment, do func()) { m.deleting = do },
		"before its bytes are erased": func(m *moment, do func()) { m.overwriting = do },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			files := filestore.New(w.js)
			store := func(data string) string {
				file, err := files.Put(t.Context(), []byte(data))
				if err != nil {
					t.Fatal(err)
				}
				return file
			}
			shared, own := store("of both"), store("of one")
			w.put(`plugin.inbound.irc.x {"from":"zoe","media":[{"kind":"file","object":"`+shared+`"}]}`,
				`plugin.inbound.irc.x {"from":"zoe","media":[{"kind":"file","object":"`+own+`"}]}`)
			m := &moment{JetStream: w.js, deleting: func() {}, overwriting: func() {}}
			again := sync.OnceFunc(func() { store("of both") })
			when(m, again)
			person, err := erasure.ParsePerson("irc.x/zoe")
			if err != nil {
				t.Fatal(err)
			}
			report, err := erase.Run(t.Context(), m, noHosts{}, erase.Options{Person: person})
			if err != nil || report.Counts[erase.Inbound] != 2 {
				t.Errorf("got %+v, %v", report, err)
			}
			if data, err := files.Get(t.Context(), shared); string(data) != "of both" {
				t.Errorf("what was sent again: got %q, %v", data, err)
			}
			info, err := w.js.Stream(t.Context(), "OBJ_"+bus.FilesBucket)
			if err != nil {
				t.Fatal(err)
			}
			for _, msg := range bustest.Stored(t, w.js, info.CachedInfo()) {
				if strings.Contains(string(msg.Data), own) || string(msg.Data) == "of one" {
					t.Errorf("of the other file there is %s %s", msg.Subject, msg.Data)
				}
			}
		})
	}
}

// A file that something of another person names stays, wherever that waits.
func TestRunKeepsAFileThatOthersName(t *testing.T) {
	t.Parallel()
	for _, subject := range []string{"plugin.inbound.irc.x", "agent.route.bob", "agent.due.bob", "plugin.outbound.irc.x", "agent.dead.bob"} {
		w := newWorld(t)
		files := filestore.New(w.js)
		file, err := files.Put(t.Context(), []byte("of both"))
		if err != nil {
			t.Fatal(err)
		}
		media := `"media":[{"kind":"file","object":"` + file + `"}]`
		w.put(`plugin.inbound.irc.x {"from":"zoe",`+media+`}`, subject+` {"from":"bo","to":"bo","kind":"delegate","text":"x",`+media+`}`)
		if report, err := w.erase("irc.x/zoe", ""); err != nil || report.Counts[erase.Inbound] != 1 || report.Counts[erase.Files] != 0 {
			t.Errorf("%s: got %+v, %v", subject, report, err)
		}
		if data, err := files.Get(t.Context(), file); string(data) != "of both" {
			t.Errorf("%s: got %q, %v", subject, data, err)
		}
	}
}
