package bench

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"agenthost/bus"
	"agenthost/bus/delivery"
	"agenthost/internal/natsserver"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// The streams and subjects of the echo.
const (
	echoIn     = "AGENTHOST_BENCH_IN"
	echoOut    = "AGENTHOST_BENCH_OUT"
	echoInput  = "agenthost_bench.in."
	echoOutput = "agenthost_bench.out."
	echoPulls  = 500
	echoExpiry = 2 * time.Second // as a lane's, for the same reason
	echoFlight = 4096            // replies that are not acknowledged
	echoReady  = "echo is ready at "
)

// Echo answers messages on bare JetStream until stdin ends: what a host does
// around that is what a Report sets beside it. It says on stderr when it is
// ready, and where its NATS is: an embedded one with the store and sync given,
// or that of cfg.
//
// Its consumers are as many as a host has lanes, and have the subjects of so many
// agents among them. With logged it stores a commit for each message, too.
func Echo(ctx context.Context, cfg bus.Config, agents int, logged bool, stdin io.Reader, stderr io.Writer) error {
	b, err := natsserver.Open(ctx, bus.Options{Name: "bench-echo", Log: zerolog.Nop(), Config: cfg})
	if err != nil {
		return err
	}
	defer b.Close()
	if err := b.Ready(ctx); err != nil {
		return err
	}
	consumers, err := echoStreams(ctx, b.JS, max(cfg.Replicas, 1), logged, laneFilters(agents, delivery.LaneCount(cfg.Lanes)))
	if err != nil {
		return err
	}
	defer dropStreams(b.JS)
	return echo(ctx, b, consumers, logged, stdin, func() {
		fmt.Fprintln(stderr, echoReady+cmp.Or(b.URL(), cfg.URL, cfg.Context))
	})
}

// laneFilters has the subjects of each lane that has any.
func laneFilters(agents, lanes int) [][]string {
	filters := make([][]string, min(agents, lanes))
	for i := range agents {
		lane := i % lanes
		filters[lane] = append(filters[lane], echoSubject(i))
	}
	return filters
}

func echoSubject(agent int) string { return fmt.Sprint(echoInput, "a", agent) }

// echoStreams makes what the host's streams and lanes are, as far as the echo
// needs it.
func echoStreams(ctx context.Context, js jetstream.JetStream, replicas int, logged bool, lanes [][]string) ([]jetstream.Consumer, error) {
	streams := map[string]string{echoIn: echoInput + ">", echoOut: echoOutput + ">"}
	if logged {
		streams[echoLogs] = echoLog + ">"
	}
	for name, subject := range streams {
		_, err := js.CreateStream(ctx, jetstream.StreamConfig{
			Name: name, Subjects: []string{subject}, Storage: jetstream.FileStorage, Replicas: replicas,
			AllowDirect: true, Duplicates: bus.DedupeWindow,
		})
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			return nil, fmt.Errorf("stream %s is there; another bench runs, or one was killed: nats stream rm -f %s", name, name)
		}
		if err != nil {
			return nil, fmt.Errorf("make stream %s: %w", name, err)
		}
	}
	consumers := make([]jetstream.Consumer, 0, len(lanes))
	for i, filters := range lanes {
		consumer, err := js.CreateConsumer(ctx, echoIn, jetstream.ConsumerConfig{
			Durable: delivery.LaneName(i), FilterSubjects: filters, AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: 2 * echoFlight,
		})
		if err != nil {
			return nil, fmt.Errorf("make a consumer of the echo: %w", err)
		}
		consumers = append(consumers, consumer)
	}
	return consumers, nil
}

func dropStreams(js jetstream.JetStream) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	for _, name := range []string{echoIn, echoOut, echoLogs} {
		_ = js.DeleteStream(ctx, name) // the next bench tells when it is left
	}
}

// An echoed message waits for the stream to have its reply.
type echoed struct {
	stored jetstream.PubAckFuture
	msg    jetstream.Msg
}

func echo(ctx context.Context, b *bus.Bus, consumers []jetstream.Consumer, logged bool, stdin io.Reader, ready func()) error {
	js, err := jetstream.New(b.NC, jetstream.WithPublishAsyncMaxPending(echoFlight))
	if err != nil {
		return err
	}
	flight := make(chan echoed, echoFlight)
	acked := make(chan struct{})
	go func() {
		defer close(acked)
		for e := range flight {
			select {
			case <-e.stored.Ok():
				_ = e.msg.Ack() // else it comes again
			case <-e.stored.Err(): //nolint:errcheck // whatever it is: the message comes again
			}
		}
	}()
	take := func(m jetstream.Msg) {
		if stored, err := js.PublishMsgAsync(reply(m)); err == nil {
			flight <- echoed{stored, m}
		}
	}
	closeLog := func() {}
	if logged {
		l := openRawLog(js, take)
		take, closeLog = l.take, l.close
	}
	takings := make([]jetstream.ConsumeContext, 0, len(consumers))
	for _, consumer := range consumers {
		taking, err := consumer.Consume(take, jetstream.PullMaxMessages(echoPulls), jetstream.PullExpiry(echoExpiry))
		if err != nil {
			return fmt.Errorf("consume: %w", err)
		}
		takings = append(takings, taking)
	}
	ready()
	await(ctx, stdin)
	for _, taking := range takings {
		taking.Stop()
		<-taking.Closed()
	}
	closeLog()
	close(flight)
	<-acked
	return nil
}

// await returns when ctx ends, or r does.
func await(ctx context.Context, r io.Reader) {
	over := make(chan struct{})
	go func() { // it ends with the process, at the latest
		defer close(over)
		_, _ = io.Copy(io.Discard, r)
	}()
	select {
	case <-ctx.Done():
	case <-over:
	}
}

// reply is an envelope of the fields that an outbound message of a host has, with
// the same headers.
func reply(m jetstream.Msg) *nats.Msg {
	id := m.Headers().Get(jetstream.MsgIDHeader)
	out := bus.Outbound{
		ID: id + ".1", Agent: "echo", Session: "bench/dm/u", Run: id, Kind: bus.KindReply, To: "u",
		Text: string(m.Data()), InReplyTo: id, Final: true, SentAt: time.Now().UTC(),
	}
	msg := &nats.Msg{
		Subject: echoOutput + m.Subject()[len(echoInput):],
		Header:  bus.Header("Content-Type", "application/json", bus.SessionKeyHeader, out.Session, jetstream.MsgIDHeader, out.ID),
	}
	msg.Data, _ = json.Marshal(out) // of strings
	return msg
}
