package upgrade_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/delivery"
	"agenthost/bus/records"
	"agenthost/bus/streams"
	"agenthost/internal/natsserver"
	"agenthost/internal/waittest"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"
)

const forever = "@at 2060-01-01T00:00:00Z"

// oldRoutes makes AGENT_ROUTES as version 0.1 did, with what it would have left:
// schedules, one that has fired, a lane that is done with the first and the third
// message, and a program that has read one of two.
func oldRoutes(t *testing.T, js jetstream.JetStream) {
	t.Helper()
	oldReplicas(t, js, 1)
}

func oldReplicas(t *testing.T, js jetstream.JetStream, replicas int) {
	t.Helper()
	bustest.MakeStream(t, js, jetstream.StreamConfig{Name: bus.SessionsStream, Subjects: []string{"agent.session.>"}, Replicas: replicas})
	bustest.Publish(t, js, "agent.session.ana.x", "a commit")
	bustest.MakeStream(t, js, jetstream.StreamConfig{
		Name: bus.RoutesStream, Subjects: []string{"agent.route.*", "agent.schedule.>"}, MaxAge: 7 * 24 * time.Hour,
		AllowMsgSchedules: true, AllowMsgTTL: true, AllowDirect: true, Duplicates: bus.DedupeWindow, FirstSeq: 100, Replicas: replicas,
	})
	for i := range 5 {
		send(t, js, "agent.route.ana", nats.Header{nats.MsgIdHdr: {fmt.Sprint("m", i)}, "Traceparent": {"t"}}, fmt.Sprint("work ", i))
	}
	for i := range 2 {
		bustest.Publish(t, js, "agent.route.desk", fmt.Sprint("result ", i))
	}
	for name, target := range map[string]string{"a": "agent.route.ana", "b": "agent.route.ana", "foreign": "agent.route.bob"} {
		send(t, js, "agent.schedule.ana."+name, nats.Header{
			jetstream.ScheduleHeader: {forever}, jetstream.ScheduleTargetHeader: {target}, "Nats-TTL": {"never"}, "Traceparent": {"t"},
		}, name)
	}
	send(t, js, "agent.schedule.ana.fired", nats.Header{
		jetstream.ScheduleHeader: {"@at 2020-01-01T00:00:00Z"}, jetstream.ScheduleTargetHeader: {"agent.route.ana"}, "Traceparent": {"t"},
	}, "fired")
	take(t, js, jetstream.ConsumerConfig{
		Durable: delivery.LaneName(1), FilterSubject: "agent.route.ana", AckPolicy: jetstream.AckExplicitPolicy, AckWait: time.Hour,
	}, 4, 0, 2)
	take(t, js, jetstream.ConsumerConfig{Durable: "program", FilterSubject: "agent.route.desk", AckPolicy: jetstream.AckExplicitPolicy}, 1, 0)
	bustest.Eventually(t, "the firing", func() bool {
		stream, err := js.Stream(t.Context(), bus.RoutesStream)
		if err != nil {
			t.Fatal(err)
		}
		last, err := stream.GetLastMsgForSubject(t.Context(), "agent.route.ana")
		return err == nil && string(last.Data) == "fired"
	})
}

func send(t *testing.T, js jetstream.JetStream, subject string, header nats.Header, data string) {
	t.Helper()
	if _, err := js.PublishMsg(t.Context(), &nats.Msg{Subject: subject, Header: header, Data: []byte(data)}); err != nil {
		t.Fatal(err)
	}
}

// take makes a consumer of AGENT_ROUTES, gets n messages and acknowledges some.
func take(t *testing.T, js jetstream.JetStream, cfg jetstream.ConsumerConfig, n int, acked ...int) {
	t.Helper()
	consumer, err := js.CreateConsumer(t.Context(), bus.RoutesStream, cfg)
	if err != nil {
		t.Fatal(err)
	}
	for i, msg := range fetch(t, consumer, n) {
		if slices.Contains(acked, i) {
			if err := msg.DoubleAck(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// fetch takes n messages. A consumer with replicas has no leader for a moment after it
// was made.
func fetch(t *testing.T, consumer jetstream.Consumer, n int) (list []jetstream.Msg) {
	t.Helper()
	waittest.Until(t, "the consumer has a leader", func() bool {
		batch, err := consumer.Fetch(n, jetstream.FetchMaxWait(20*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		for msg := range batch.Messages() {
			list = append(list, msg)
		}
		if err := batch.Error(); err != nil && !errors.Is(err, nats.ErrNoResponders) {
			t.Fatalf("got %d messages, %v, want %d", len(list), err, n)
		}
		return len(list) == n
	})
	return list
}

// contents are the messages of a stream, a line for each.
func contents(t *testing.T, js jetstream.JetStream, stream string) (lines []string) {
	t.Helper()
	for rec, err := range records.NewReader(js).Tail(t.Context(), stream, ">", 1) {
		if err != nil {
			t.Fatal(err)
		}
		line := fmt.Sprintf("%s %s", rec.Subject, rec.Data)
		if stream == bus.RoutesStream {
			line = fmt.Sprintf("%d %s", rec.Seq, line)
		}
		for _, key := range []string{nats.MsgIdHdr, "Traceparent", jetstream.ScheduleHeader, jetstream.ScheduleTargetHeader} {
			if v := rec.Header.Get(key); v != "" {
				line += " " + v
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// wantUpgraded checks that nothing of oldRoutes is missing.
func wantUpgraded(t *testing.T, js jetstream.JetStream) {
	t.Helper()
	for _, want := range []string{
		"AGENT_ROUTES agent.part.*.* agent.route.* 168h0m0s direct ttl",
		"AGENT_SCHEDULES agent.due.* agent.schedule.> 168h0m0s direct rollup ttl schedules",
	} {
		if all := bustest.ListStreams(t, js); !slices.Contains(all, want) || strings.Contains(fmt.Sprint(all), "UPGRADE") {
			t.Errorf("got %s\nwant among them %s", strings.Join(all, "\n"), want)
		}
	}
	if diff := cmp.Diff([]string{
		"100 agent.route.ana work 0 m0 t", "101 agent.route.ana work 1 m1 t", "102 agent.route.ana work 2 m2 t", "103 agent.route.ana work 3 m3 t",
		"104 agent.route.ana work 4 m4 t", "105 agent.route.desk result 0", "106 agent.route.desk result 1",
	}, contents(t, js, bus.RoutesStream)); diff != "" {
		t.Errorf("routes: %s", diff)
	}
	due := slices.Compact(slices.Sorted(slices.Values(contents(t, js, bus.SchedulesStream)))) // one of a step that was done twice has the same id
	if diff := cmp.Diff([]string{
		"agent.due.ana fired AGENT_ROUTES:111 t",
		"agent.schedule.ana.a a t " + forever + " agent.due.ana", "agent.schedule.ana.b b t " + forever + " agent.due.ana",
	}, due); diff != "" {
		t.Errorf("schedules: %s", diff)
	}
	c := bustest.StreamConfig(t, js, bus.RoutesStream)
	if c.Metadata["agenthost.lanes_from"] != "101" || c.Metadata["agenthost.original"] != "" || c.Duplicates != bus.DedupeWindow {
		t.Errorf("got %+v", c)
	}
	if got := consumers(t, js); slices.ContainsFunc(got, delivery.IsLane) || !slices.Contains(got, "program") {
		t.Errorf("got consumers %q, want that of the program, and no lane", got)
	}
	program, err := js.Consumer(t.Context(), bus.RoutesStream, "program")
	if err != nil {
		t.Fatal(err)
	}
	if msg := fetch(t, program, 1)[0]; string(msg.Data()) != "result 1" {
		t.Errorf("the program gets %s, want result 1", msg.Data())
	}
	if ack, err := js.Publish(t.Context(), "agent.route.ana", nil); err != nil || ack.Sequence < 112 {
		t.Errorf("the next message is %+v, %v, want it beyond 111", ack, err)
	}
}

// consumers are those of AGENT_ROUTES.
func consumers(t *testing.T, js jetstream.JetStream) (names []string) {
	t.Helper()
	stream, err := js.Stream(t.Context(), bus.RoutesStream)
	if err != nil {
		t.Fatal(err)
	}
	list := stream.ConsumerNames(t.Context())
	for name := range list.Name() {
		names = append(names, name)
	}
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	return names
}

func TestUpgrade(t *testing.T) {
	t.Parallel()
	js := bustest.Open(t).JS
	oldRoutes(t, js)
	bustest.Provision(t, js)
	wantUpgraded(t, js)
}

// A consumer that pushes brings its program what is new, and no more, and not while
// the messages are being copied.
func TestUpgradeOfAConsumerThatPushes(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t)
	oldRoutes(t, b.JS)
	got, err := b.NC.SubscribeSync("desk.inbox")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.JS.CreatePushConsumer(t.Context(), bus.RoutesStream, jetstream.ConsumerConfig{
		Durable: "pushes", DeliverSubject: "desk.inbox", FilterSubject: "agent.route.desk", DeliverPolicy: jetstream.DeliverNewPolicy,
		AckPolicy: jetstream.AckExplicitPolicy,
	}); err != nil {
		t.Fatal(err)
	}
	bustest.Publish(t, b.JS, "agent.route.desk", "unread")
	next := func() string {
		msg, err := got.NextMsgWithContext(bustest.Context(t))
		if err != nil {
			t.Fatal(err)
		}
		return string(msg.Data)
	}
	texts := []string{next()}
	bustest.Provision(t, b.JS)
	bustest.Publish(t, b.JS, "agent.route.desk", "new")
	for texts[len(texts)-1] != "new" {
		texts = append(texts, next())
	}
	if diff := cmp.Diff([]string{"unread", "unread", "new"}, texts); diff != "" {
		t.Errorf("before the upgrade and after it: %s", diff)
	}
}

// The client gives a list of consumers some seconds: a server that takes longer to have them
// copied is waited for.
func TestUpgradeThatCopiesForLong(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t)
	oldRoutes(t, b.JS)
	for n := range 3 {
		take(t, b.JS, jetstream.ConsumerConfig{Durable: fmt.Sprint("more", n), FilterSubject: "agent.route.desk"}, 1)
	}
	const patience = 2 * time.Second
	impatient, err := jetstream.New(b.NC, jetstream.WithDefaultTimeout(patience))
	if err != nil {
		t.Fatal(err)
	}
	var copied int
	slow := zerolog.New(writes(func(line string) {
		if strings.Contains(line, "copy consumer") {
			if copied++; copied == 1 {
				<-time.After(patience + patience/10)
			}
		}
	}))
	if err := streams.Provision(t.Context(), impatient, 1, 0, slow); err != nil {
		t.Fatal(err)
	}
	wantUpgraded(t, b.JS)
}

type writes func(line string)

func (w writes) Write(line []byte) (int, error) {
	w(string(line))
	return len(line), nil
}

// The hosts of a fleet are started at the same time.
func TestUpgradeByManyHosts(t *testing.T) {
	t.Parallel()
	js := bustest.Open(t).JS
	oldRoutes(t, js)
	var hosts errgroup.Group
	for range 4 {
		hosts.Go(func() error { return streams.Provision(context.Background(), js, 1, 4, zerolog.Nop()) })
	}
	if err := hosts.Wait(); err != nil {
		t.Fatal(err)
	}
	wantUpgraded(t, js)
}

// provisionAsHost tries again, as a host does, for what a slow cluster may mend.
func provisionAsHost(t *testing.T, js jetstream.JetStream) error {
	for {
		err := streams.Provision(t.Context(), js, 3, 4, bustest.Log(t))
		if err == nil || !bus.Transient(err) || t.Context().Err() != nil {
			return err
		}
	}
}

// workOfLane is what the lane of ana brings, up to the text last.
func workOfLane(t *testing.T, js jetstream.JetStream, last string) (texts []string) {
	t.Helper()
	got := make(chan *delivery.Delivery, 100) // the lane must not wait for the test
	lane := delivery.NewLane(js, delivery.LaneConfig{
		Stream: bus.RoutesStream, Name: delivery.LaneName(1), Host: "one", Filters: []string{"agent.route.ana"},
	}, bustest.Log(t), func(context.Context, string) {}, func(d *delivery.Delivery) { got <- d })
	ctx, cancel := context.WithCancel(bustest.Context(t))
	done := make(chan error, 1)
	go func() { done <- lane.Run(ctx, ctx) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	for {
		select {
		case d := <-got:
			texts = append(texts, string(d.Data()))
			d.Done()
			if texts[len(texts)-1] == last {
				return texts
			}
		case <-ctx.Done():
			t.Errorf("the lane brings %q, want %q too", texts, last)
			return texts
		}
	}
}

// A stream that had messages, and has none now, does not count from 1 again: what has
// no id is known by its sequence.
func TestUpgradeOfAnEmptyStream(t *testing.T) {
	t.Parallel()
	js := bustest.Open(t).JS
	oldRoutes(t, js)
	stream, err := js.Stream(t.Context(), bus.RoutesStream)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	bustest.Provision(t, js)
	if ack, err := js.Publish(t.Context(), "agent.route.ana", nil); err != nil || ack.Sequence < 112 {
		t.Errorf("the next message is %+v, %v, want it beyond 111", ack, err)
	}
}

func TestUpgradeWaitsForHostsOfTheOldVersion(t *testing.T) {
	t.Parallel()
	js := bustest.Open(t).JS
	oldRoutes(t, js)
	lane, err := js.UpdateConsumer(t.Context(), bus.RoutesStream, jetstream.ConsumerConfig{
		Durable: delivery.LaneName(1), FilterSubject: "agent.route.none", AckPolicy: jetstream.AckExplicitPolicy, AckWait: time.Hour,
	})
	if err != nil {
		t.Fatal(err)
	}
	old, err := lane.Consume(func(jetstream.Msg) {})
	if err != nil {
		t.Fatal(err)
	}
	bustest.Eventually(t, "a host that asks for messages", func() bool {
		info, err := lane.Info(t.Context())
		return err == nil && info.NumWaiting > 0
	})
	err = streams.Provision(t.Context(), js, 1, 4, bustest.Log(t))
	bustest.WantError(t, err, "upgrade stream AGENT_ROUTES: ", "a host serves lane-01", "stop every host first")
	if !bus.Transient(err) {
		t.Error("a host that starts does not wait for it")
	}
	old.Stop()
	<-old.Closed()
	bustest.Eventually(t, "the upgrade", func() bool { return streams.Provision(t.Context(), js, 1, 4, bustest.Log(t)) == nil })
	wantUpgraded(t, js)
}

func TestUpgradeRefusesAWorkQueue(t *testing.T) {
	t.Parallel()
	js := bustest.Open(t).JS
	bustest.MakeStream(t, js, jetstream.StreamConfig{
		Name: bus.RoutesStream, Subjects: []string{"agent.route.*"}, AllowMsgSchedules: true, Retention: jetstream.WorkQueuePolicy,
	})
	err := streams.Provision(t.Context(), js, 1, 4, bustest.Log(t))
	bustest.WantError(t, err, "upgrade stream AGENT_ROUTES: ", "retention is WorkQueue", "delete it")
	if !errors.Is(err, bus.ErrUnusable) {
		t.Errorf("got %v, want %v", err, bus.ErrUnusable)
	}
}

func openStore(t *testing.T, dir string) *bus.Bus {
	t.Helper()
	cfg := bustest.Config(t)
	cfg.Embedded.Store = dir
	return bustest.OpenConfig(t, cfg)
}

const dieEnv = "BUS_TEST_UPGRADE_AND_DIE" // the store and the line

// upgradeAndDie runs a host that is killed at line n of what it logs of the upgrade.
func upgradeAndDie(t *testing.T, dir string, n int) (killed bool, at string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d:%s", dieEnv, n, dir))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	if cmd.ProcessState.ExitCode() == -1 { // by a signal
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		return true, lines[len(lines)-1]
	}
	if err != nil {
		t.Fatalf("%v: %s", err, &out)
	}
	return false, "not"
}

// diesAt kills the process at a line of the upgrade.
type diesAt struct{ left int }

func (d *diesAt) Write(p []byte) (int, error) {
	var line struct{ Message, Step, Part string }
	if err := json.Unmarshal(p, &line); err != nil {
		return 0, err
	}
	if !strings.HasPrefix(line.Message, "upgrade stream") {
		return len(p), nil
	}
	fmt.Println(line.Step + line.Part)
	if d.left--; d.left == 0 {
		if self, err := os.FindProcess(os.Getpid()); err != nil || self.Kill() != nil {
			panic("cannot kill itself")
		}
		select {}
	}
	return len(p), nil
}

// upgradeUntilDeath is the process of upgradeAndDie.
func upgradeUntilDeath(env string) error {
	n, dir, _ := strings.Cut(env, ":")
	left, err := strconv.Atoi(n)
	if err != nil {
		return err
	}
	noPort := ""
	b, err := natsserver.Open(context.Background(), bus.Options{Name: "dies", Log: zerolog.Nop(), Config: bus.Config{
		Embedded: bus.Embedded{Store: dir, Listen: &noPort, Sync: "always"},
	}})
	if err != nil {
		return err
	}
	defer b.Close()
	return streams.Provision(context.Background(), b.JS, 1, 4, zerolog.New(&diesAt{left}))
}
