package publishing_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/publishing"
	"agenthost/bus/records"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// publisher makes a Publisher that runs until the returned stop is called or
// the test ends.
func publisher(t testing.TB, nc *nats.Conn, log zerolog.Logger) (p *publishing.Publisher, stop func()) {
	t.Helper()
	p, err := publishing.New(nc, log)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: got %v, want nil", err)
		}
	})
	t.Cleanup(stop)
	return p, stop
}

// stored is one call of a Stored.
type stored struct {
	seq    uint64
	resent bool
	err    error
}

// into hands what a Stored is told to a channel.
func into(c chan<- stored) publishing.Stored {
	return func(seq uint64, resent bool, err error) { c <- stored{seq, resent, err} }
}

func message(subject, id string) *nats.Msg {
	msg := nats.NewMsg(subject)
	msg.Data = []byte(id)
	if id != "" {
		msg.Header.Set(nats.MsgIdHdr, id)
	}
	return msg
}

func flush(t testing.TB, p *publishing.Publisher) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := p.Flush(ctx); err != nil {
		t.Fatalf("flush: %v", err)
	}
}

func TestPublishIsSettledInOrder(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t)
	bustest.MakeStream(t, b.JS, jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}})
	p, _ := publisher(t, b.NC, bustest.Log(t))
	got := make(chan stored, 500)
	for range cap(got) {
		p.Publish(message("s", ""), into(got))
	}
	flush(t, p)
	for i := range cap(got) {
		if s, want := <-got, (stored{seq: uint64(i + 1)}); s != want {
			t.Fatalf("got %+v, want %+v", s, want)
		}
	}
}

func TestPublishGoesOnAfterARestart(t *testing.T) {
	t.Parallel()
	url, srv := bustest.Server(t)
	b := bustest.OpenConfig(t, bus.Config{URL: url})
	if err := b.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	bustest.MakeStream(t, b.JS, jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}, Duplicates: time.Minute, AllowDirect: true})
	p, _ := publisher(t, b.NC, bustest.Log(t))
	const many = 400
	got := make(chan stored, many)
	for i := range many / 2 {
		p.Publish(message("s", fmt.Sprint("a", i)), into(got))
	}
	srv.Stop()
	for i := range many / 2 {
		p.Publish(message("s", fmt.Sprint("b", i)), into(got))
	}
	srv.Start()
	flush(t, p)
	resent := 0
	for range many {
		s := <-got
		if s.err != nil {
			t.Fatal(s.err)
		}
		if s.resent {
			resent++
		}
	}
	if resent < many/2 {
		t.Errorf("resent: got %d, want at least those sent while NATS was away", resent)
	}
	seen := map[string]bool{}
	for rec, err := range records.NewReader(b.JS).Tail(t.Context(), "S", "s", 0) {
		if err != nil {
			t.Fatal(err)
		}
		if seen[string(rec.Data)] {
			t.Errorf("%s is stored twice", rec.Data)
		}
		seen[string(rec.Data)] = true
	}
	if len(seen) != many {
		t.Errorf("stored: got %d messages, want %d", len(seen), many)
	}
}

func TestPublishRefusedByTheFence(t *testing.T) {
	t.Parallel()
	url, srv := bustest.Server(t)
	b := bustest.OpenConfig(t, bus.Config{URL: url})
	if err := b.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	bustest.MakeStream(t, b.JS, jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}})
	p, _ := publisher(t, b.NC, bustest.Log(t))
	if _, err := p.PublishWait(t.Context(), message("s", "")); err != nil {
		t.Fatal(err)
	}
	first := func() *nats.Msg {
		msg := message("s", "")
		msg.Header.Set(jetstream.ExpectedLastSubjSeqHeader, "0")
		return msg
	}
	got := make(chan stored, 2)
	p.Publish(first(), into(got))
	if s := <-got; !bus.Refused(s.err) || s.resent {
		t.Errorf("got %+v, want it refused and sent once", s)
	}
	srv.Stop()
	p.Publish(first(), into(got))
	srv.Start()
	if s := <-got; !bus.Refused(s.err) || !s.resent {
		t.Errorf("after a restart: got %+v, want it refused and sent again", s)
	}
	flush(t, p)
	if len(got) > 0 {
		t.Errorf("settled twice: %+v", <-got)
	}
}

func TestPublishTooLarge(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t)
	bustest.MakeStream(t, b.JS, jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}, MaxMsgSize: 100})
	p, _ := publisher(t, b.NC, bustest.Log(t))
	msg := message("s", "")
	msg.Data = make([]byte, b.NC.MaxPayload()+1)
	if _, err := p.PublishWait(t.Context(), msg); !errors.Is(err, nats.ErrMaxPayload) {
		t.Errorf("beyond the server's limit: got %v, want %v", err, nats.ErrMaxPayload)
	}
	msg.Data = make([]byte, 1000)
	_, err := p.PublishWait(t.Context(), msg)
	bustest.WantError(t, err, "maximum")
	flush(t, p)
}

// NATS would close the connection for good.
func TestPublishOnALongSubject(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t)
	bustest.MakeStream(t, b.JS, jetstream.StreamConfig{Name: "S", Subjects: []string{"s", "s.>"}})
	p, _ := publisher(t, b.NC, bustest.Log(t))
	if _, err := p.PublishWait(t.Context(), message("s."+strings.Repeat("x", 5000), "")); !errors.Is(err, nats.ErrBadSubject) {
		t.Errorf("got %v, want %v", err, nats.ErrBadSubject)
	}
	if _, err := p.PublishWait(t.Context(), message("s", "1")); err != nil {
		t.Error(err)
	}
}

// What finds no stream, or a full one, is sent until it is stored.
func TestPublishWaitsForRoom(t *testing.T) {
	tests := map[string]func(t *testing.T, js jetstream.JetStream) (makeRoom func()){
		"no stream": func(t *testing.T, js jetstream.JetStream) func() {
			return func() { bustest.MakeStream(t, js, jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}}) }
		},
		"a full stream": func(t *testing.T, js jetstream.JetStream) func() {
			s := bustest.MakeStream(t, js, jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}, MaxMsgs: 1, Discard: jetstream.DiscardNew})
			if _, err := js.Publish(t.Context(), "s", nil); err != nil {
				t.Fatal(err)
			}
			return func() {
				if err := s.Purge(t.Context()); err != nil {
					t.Error(err)
				}
			}
		},
	}
	for name, prepare := range tests {
		t.Run(name, func(t *testing.T) {
			bustest.Bubble(t, func(t *testing.T) {
				b := bustest.Open(t)
				makeRoom := prepare(t, b.JS)
				var logged bustest.LogBuffer
				p, _ := publisher(t, b.NC, zerolog.New(&logged))
				got := make(chan stored, 1)
				p.Publish(message("s", "1"), into(got))
				time.Sleep(time.Minute)
				if len(got) > 0 {
					t.Fatalf("settled too early: %+v", <-got)
				}
				makeRoom()
				if s := <-got; s.err != nil || !s.resent {
					t.Errorf("got %+v, want it stored and resent", s)
				}
				if n := strings.Count(logged.String(), "sending again until it is"); n != 1 {
					t.Errorf("warnings: got %d, want 1", n)
				}
			})
		})
	}
}

func TestFlush(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		b := bustest.Open(t)
		p, _ := publisher(t, b.NC, bustest.Log(t))
		if err := p.Flush(t.Context()); err != nil {
			t.Errorf("flush of nothing: got %v, want nil", err)
		}
		p.Publish(message("s", "1"), func(uint64, bool, error) {})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := p.Flush(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("flush without a stream: got %v, want %v", err, context.DeadlineExceeded)
		}
		bustest.MakeStream(t, b.JS, jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}})
		if err := p.Flush(t.Context()); err != nil {
			t.Errorf("flush once there is a stream: got %v, want nil", err)
		}
	})
}

func TestPublisherSettlesAllWhenItStops(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t)
	p, stop := publisher(t, b.NC, bustest.Log(t))
	got := make(chan stored, 2)
	p.Publish(message("no.stream", "1"), into(got))
	waited := make(chan error, 1)
	go func() {
		_, err := p.PublishWait(context.Background(), message("no.stream", "2"))
		waited <- err
	}()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.PublishWait(ctx, message("no.stream", "3")); !errors.Is(err, context.Canceled) {
		t.Errorf("PublishWait: got %v, want %v", err, context.Canceled)
	}
	stop()
	if s := <-got; !errors.Is(s.err, publishing.ErrClosed) {
		t.Errorf("pending: got %+v, want %v", s, publishing.ErrClosed)
	}
	if err := <-waited; !errors.Is(err, publishing.ErrClosed) {
		t.Errorf("waiting: got %v, want %v", err, publishing.ErrClosed)
	}
	p.Publish(message("s", "4"), into(got))
	if s := <-got; !errors.Is(s.err, publishing.ErrClosed) || s.resent {
		t.Errorf("after stop: got %+v, want %v", s, publishing.ErrClosed)
	}
	flush(t, p)
}

func TestPublishOnAClosedConnection(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t)
	p, _ := publisher(t, b.NC, bustest.Log(t))
	b.Close()
	_, err := p.PublishWait(t.Context(), message("s", ""))
	bustest.WantError(t, err, "connection closed")
}

// An account without room is made room in, as a stream is.
func TestPublishWaitsForRoomInTheAccount(t *testing.T) {
	t.Parallel()
	cfg := bustest.Config(t)
	cfg.User, cfg.Password = "ann", "secret"
	cfg.Embedded.Config = bustest.WriteFile(t, "nats.conf", `accounts {A {jetstream {max_file: 64KB}, users: [{user: ann, password: secret}]}}`)
	b := bustest.OpenConfig(t, cfg)
	s := bustest.MakeStream(t, b.JS, jetstream.StreamConfig{Name: "S", Subjects: []string{"s", "filler"}})
	var err error
	for err == nil {
		_, err = b.JS.Publish(t.Context(), "filler", make([]byte, 1<<10))
	}
	bustest.WantError(t, err, "resource limits exceeded for account")
	p, _ := publisher(t, b.NC, bustest.Log(t))
	got := make(chan stored, 1)
	large := message("s", "1")
	large.Data = make([]byte, 1<<10)
	p.Publish(large, into(got))
	_, err = b.JS.Publish(t.Context(), "filler", make([]byte, 1<<10)) // of the same stream: the first is refused by now
	bustest.WantError(t, err, "resource limits exceeded for account")
	if err := s.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r := <-got; r.err != nil || !r.resent {
		t.Errorf("got %+v, want it stored when there is room", r)
	}
}

// What no stream takes for longer than it may take is told, in the log without
// a flood; what only tells watchers may be lost.
func TestPublishTellsWhatIsStuck(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		var log bustest.LogBuffer
		b := bustest.Open(t)
		p, _ := publisher(t, b.NC, zerolog.New(&log))
		p.Publish(message("agent.events.ana.started", "0"), func(uint64, bool, error) {})
		for i := range 500 {
			p.Publish(message("s", strconv.Itoa(i)), func(uint64, bool, error) {})
		}
		time.Sleep(2 * time.Second)
		if err := p.Stuck(); err != nil {
			t.Errorf("after 2 s: got %v, want nil", err)
		}
		time.Sleep(4 * time.Second)
		bustest.WantError(t, p.Stuck(), "publish on s is not acknowledged", "no response from stream")
		if n := strings.Count(log.String(), "publish is not acknowledged"); n == 0 || n > 50 {
			t.Errorf("500 messages made %d log lines, want a few", n)
		}
		bustest.MakeStream(t, b.JS, jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}})
		time.Sleep(4 * time.Second)
		if err := p.Stuck(); err != nil {
			t.Errorf("with the stream: got %v, want nil", err)
		}
	})
}

func TestTransient(t *testing.T) {
	t.Parallel()
	api := func(code int, number jetstream.ErrorCode) error {
		return fmt.Errorf("publish: %w", &jetstream.APIError{Code: code, ErrorCode: number})
	}
	tests := map[string]struct {
		err                error
		transient, refused bool
	}{
		"no answer":            {nats.ErrTimeout, true, false},
		"no stream":            {jetstream.ErrNoStreamResponse, true, false},
		"disconnected":         {nats.ErrDisconnected, true, false},
		"NATS is away":         {nats.ErrReconnectBufExceeded, true, false},
		"no leader":            {api(503, 10008), true, false},
		"stream is full":       {api(400, 10077), true, false},
		"no storage":           {api(500, 10047), true, false},
		"stream is sealed":     {api(400, 10109), true, false},
		"account is full":      {api(400, 10002), true, false},
		"account has no limit": {api(400, 10120), true, false},
		"earlier copy is busy": {api(409, 10158), true, false},
		"too many at once":     {api(429, 10167), true, false},
		"too few servers":      {api(400, 10005), true, false},
		"no cluster":           {api(500, 10074), false, false},
		"message too large":    {api(400, 10054), false, false},
		"fenced":               {api(400, 10071), false, true},
		"fenced, replicated":   {api(400, 10164), false, true},
		"beyond the payload":   {nats.ErrMaxPayload, false, false},
		"connection is closed": {nats.ErrConnectionClosed, false, false},
		"bad subject":          {nats.ErrBadSubject, false, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := bus.Transient(tt.err); got != tt.transient {
				t.Errorf("Transient: got %t, want %t", got, tt.transient)
			}
			if got := bus.Refused(tt.err); got != tt.refused {
				t.Errorf("Refused: got %t, want %t", got, tt.refused)
			}
		})
	}
}
