package streams_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/delivery"
	"agenthost/bus/streams"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"
)

var fresh = []string{
	"AGENT_AUDIT agent.audit.> 9600h0m0s direct",
	"AGENT_DEAD agent.dead.> 720h0m0s direct",
	"AGENT_EVENTS agent.events.> 168h0m0s direct ttl",
	"AGENT_INBOUND plugin.inbound.> 72h0m0s direct discard-new",
	"AGENT_OUTBOUND plugin.outbound.> agent.owner.> 72h0m0s direct ttl",
	"AGENT_ROUTES agent.route.* agent.part.*.* 168h0m0s direct ttl",
	"AGENT_SCHEDULES agent.due.* agent.schedule.> 168h0m0s direct rollup ttl schedules",
	"AGENT_SESSIONS agent.session.> agent.snapshot.> 0s direct rollup",
	"KV_AGENT_ALLOWED $KV.AGENT_ALLOWED.> 0s direct rollup discard-new",
	"KV_AGENT_CHANNELS $KV.AGENT_CHANNELS.> 0s direct rollup ttl discard-new",
	"KV_AGENT_HEARTBEATS $KV.AGENT_HEARTBEATS.> 0s direct rollup discard-new",
	"KV_AGENT_LANES $KV.AGENT_LANES.> 0s direct rollup discard-new",
	"KV_AGENT_MEMORY $KV.AGENT_MEMORY.> 0s direct rollup ttl discard-new",
	"KV_AGENT_PAIRINGS $KV.AGENT_PAIRINGS.> 0s direct rollup ttl discard-new",
	"KV_AGENT_REQUESTS $KV.AGENT_REQUESTS.> 168h0m0s direct rollup discard-new",
	"KV_AGENT_SCHEDULES $KV.AGENT_SCHEDULES.> 0s direct rollup discard-new",
	"KV_AGENT_SPEND $KV.AGENT_SPEND.> 840h0m0s direct rollup discard-new",
	"KV_AGENT_TOKENS $KV.AGENT_TOKENS.> 0s direct rollup discard-new",
	"KV_AGENT_WAITING $KV.AGENT_WAITING.> 0s direct rollup discard-new",
	"OBJ_AGENT_FILES $O.AGENT_FILES.C.> $O.AGENT_FILES.M.> 0s direct rollup discard-new",
}

func TestProvision(t *testing.T) {
	t.Parallel()
	js := bustest.Open(t).JS
	var logged bustest.LogBuffer
	for range 2 {
		if err := streams.Provision(t.Context(), js, 0, 0, zerolog.New(&logged).Level(zerolog.WarnLevel)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(fresh, bustest.ListStreams(t, js)); diff != "" {
			t.Error(diff)
		}
	}
	if logged.String() != "" {
		t.Errorf("logged: %s, want nothing", logged.String())
	}
	c := bustest.StreamConfig(t, js, bus.InboundStream)
	if c.Metadata["agenthost.lanes"] != "4" || c.Duplicates != bus.DedupeWindow || c.Replicas != 1 {
		t.Errorf("got lanes %s, window %s, replicas %d, want 4, %s, 1", c.Metadata["agenthost.lanes"], c.Duplicates, c.Replicas, bus.DedupeWindow)
	}
}

func TestProvisionKeepsWhatOthersChose(t *testing.T) {
	t.Parallel()
	js := bustest.Open(t).JS
	bustest.MakeStream(t, js, jetstream.StreamConfig{
		Name: bus.OutboundStream, Subjects: []string{"plugin.outbound.>"}, Storage: jetstream.MemoryStorage,
		MaxMsgs: 10, MaxBytes: 1 << 20, MaxMsgsPerSubject: 5, MaxMsgSize: 1 << 10, MaxAge: time.Minute, Discard: jetstream.DiscardNew,
		Retention: jetstream.InterestPolicy, Description: "mine",
	})
	var logged bustest.LogBuffer
	if err := streams.Provision(t.Context(), js, 1, 4, zerolog.New(&logged).Level(zerolog.WarnLevel)); err != nil {
		t.Fatal(err)
	}
	c := bustest.StreamConfig(t, js, bus.OutboundStream)
	if c.MaxMsgs != 10 || c.MaxAge != time.Minute || c.Storage != jetstream.MemoryStorage || c.Description != "mine" || c.Duplicates != time.Minute {
		t.Errorf("the stream was changed: %+v", c)
	}
	if !c.AllowDirect {
		t.Error("direct get: got it off, want it on")
	}
	for _, want := range []string{
		`"stream":"AGENT_OUTBOUND"`, `"max_msgs":10`, `"max_bytes":1048576`, `"max_msgs_per_subject":5`, `"max_msg_size":1024`,
		`"max_age":"1m0s"`, `"storage":"Memory"`, `"discard":"DiscardNew"`, `"retention":"Interest"`, "they stay as they are",
	} {
		if !strings.Contains(logged.String(), want) {
			t.Errorf("logged %s, want it to say %s", logged.String(), want)
		}
	}
	if !strings.Contains(logged.String(), `"settings":"max_age 1m0s, max_msgs_per_subject 5","message":"NATS deletes messages`) || strings.Count(logged.String(), "\n") != 2 {
		t.Errorf("logged %s, want a second line, of what loses messages", logged.String())
	}
}

func TestProvisionWidens(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		have jetstream.StreamConfig
		want string
	}{
		"flags and subjects that are missing": {
			jetstream.StreamConfig{Name: bus.SessionsStream, Subjects: []string{"agent.session.>"}},
			"AGENT_SESSIONS agent.session.> agent.snapshot.> 0s direct rollup",
		},
		"subjects of its own beside": {
			jetstream.StreamConfig{Name: bus.DeadStream, Subjects: []string{"graves", "agent.dead.>"}, MaxAge: 30 * 24 * time.Hour},
			"AGENT_DEAD graves agent.dead.> 720h0m0s direct",
		},
		"a narrower subject": {
			jetstream.StreamConfig{Name: bus.InboundStream, Subjects: []string{"plugin.inbound.web"}, MaxAge: time.Hour},
			"AGENT_INBOUND plugin.inbound.> 1h0m0s direct",
		},
		"a wider subject stays": {
			jetstream.StreamConfig{Name: bus.RoutesStream, Subjects: []string{"agent.route.>"}, MaxAge: time.Hour},
			"AGENT_ROUTES agent.part.*.* agent.route.> 1h0m0s direct ttl",
		},
		"time to live and schedules": {
			jetstream.StreamConfig{Name: bus.SchedulesStream, Subjects: []string{"agent.due.*"}, MaxAge: time.Hour},
			"AGENT_SCHEDULES agent.due.* agent.schedule.> 1h0m0s direct rollup ttl schedules",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			js := bustest.Open(t).JS
			bustest.MakeStream(t, js, tt.have)
			bustest.Provision(t, js)
			if got := bustest.ListStreams(t, js); !slices.Contains(got, tt.want) {
				t.Errorf("got %s\nwant among them %s", strings.Join(got, "\n"), tt.want)
			}
			if c := bustest.StreamConfig(t, js, tt.have.Name); c.Duplicates != bus.DedupeWindow {
				t.Errorf("window: got %s, want %s", c.Duplicates, bus.DedupeWindow)
			}
		})
	}
}

func TestProvisionRefusesOtherLanes(t *testing.T) {
	t.Parallel()
	js := bustest.Open(t).JS
	bustest.Provision(t, js)
	err := streams.Provision(t.Context(), js, 1, 8, bustest.Log(t))
	if !errors.Is(err, streams.ErrLanes) {
		t.Errorf("got %v, want %v", err, streams.ErrLanes)
	}
	bustest.WantError(t, err, "the fleet was made with another number of lanes: 4, and nats.lanes says 8; "+
		"set nats.lanes to 4, or stop every host and run: agenthost lanes 8")
	if err := streams.Provision(t.Context(), js, 1, 4, bustest.Log(t)); err != nil {
		t.Errorf("the same number in words: %v", err)
	}
}

func TestProvisionNamesTheStreamInTheWay(t *testing.T) {
	t.Parallel()
	t.Run("of a new stream", func(t *testing.T) {
		js := bustest.Open(t).JS
		bustest.MakeStream(t, js, jetstream.StreamConfig{Name: "CHAT", Subjects: []string{"plugin.inbound.web"}})
		err := streams.Provision(t.Context(), js, 1, 4, bustest.Log(t))
		bustest.WantError(t, err, "make stream AGENT_INBOUND: ", `stream CHAT keeps subjects of "plugin.inbound.>" too`)
	})
	t.Run("of one to widen", func(t *testing.T) {
		js := bustest.Open(t).JS
		bustest.MakeStream(t, js, jetstream.StreamConfig{Name: "CHAT", Subjects: []string{"agent.snapshot.>"}})
		bustest.MakeStream(t, js, jetstream.StreamConfig{Name: bus.SessionsStream, Subjects: []string{"agent.session.>"}})
		err := streams.Provision(t.Context(), js, 1, 4, bustest.Log(t))
		bustest.WantError(t, err, "widen stream AGENT_SESSIONS: ", `stream CHAT keeps subjects of "agent.snapshot.>" too`)
	})
}

func TestProvisionRefuses(t *testing.T) {
	t.Parallel()
	t.Run("a stream that cannot be widened", func(t *testing.T) {
		js := bustest.Open(t).JS
		bustest.MakeStream(t, js, jetstream.StreamConfig{Name: bus.SchedulesStream, Subjects: []string{"agent.due.*"}, Discard: jetstream.DiscardNew})
		bustest.WantError(t, streams.Provision(t.Context(), js, 1, 4, bustest.Log(t)), "widen stream AGENT_SCHEDULES: ", "message scheduling cannot use discard new")
	})
	for why, have := range map[string]jetstream.StreamConfig{
		"stream AGENT_OUTBOUND acknowledges nothing (no_ack): ":      {Name: bus.OutboundStream, Subjects: []string{"plugin.outbound.>"}, NoAck: true},
		"stream AGENT_INBOUND is sealed: ":                           {Name: bus.InboundStream, Subjects: []string{"plugin.inbound.>"}},
		"stream AGENT_INBOUND is a mirror: ":                         {Name: bus.InboundStream, Mirror: &jetstream.StreamSource{Name: "ORIGIN"}},
		"stream AGENT_SESSIONS keeps nothing (retention interest): ": {Name: bus.SessionsStream, Subjects: []string{"agent.session.>"}, Retention: jetstream.InterestPolicy},
	} {
		t.Run(why, func(t *testing.T) {
			js := bustest.Open(t).JS
			bustest.MakeStream(t, js, have)
			if have.Sealed = strings.Contains(why, "sealed"); have.Sealed {
				if _, err := js.UpdateStream(t.Context(), have); err != nil {
					t.Fatal(err)
				}
			}
			err := streams.Provision(t.Context(), js, 1, 4, bustest.Log(t))
			bustest.WantError(t, err, why, "delete it")
			if !errors.Is(err, bus.ErrUnusable) {
				t.Errorf("got %v, want %v", err, bus.ErrUnusable)
			}
		})
	}
	t.Run("more replicas than servers", func(t *testing.T) {
		js := bustest.Open(t).JS
		bustest.WantError(t, streams.Provision(t.Context(), js, 3, 4, bustest.Log(t)), "make stream AGENT_INBOUND: ", "replicas")
	})
	t.Run("no NATS", func(t *testing.T) {
		b := bustest.Open(t)
		b.Close()
		bustest.WantError(t, streams.Provision(t.Context(), b.JS, 1, 4, bustest.Log(t)), "look up stream AGENT_ROUTES: ")
	})
	for bucket, stream := range map[string]string{"lanes": "KV_AGENT_LANES", "files": "OBJ_AGENT_FILES"} {
		t.Run("a bucket in the way of "+bucket, func(t *testing.T) {
			js := bustest.Open(t).JS
			subject := "$KV.AGENT_LANES.x"
			if bucket == "files" {
				subject = "$O.AGENT_FILES.C.x"
			}
			bustest.MakeStream(t, js, jetstream.StreamConfig{Name: "X", Subjects: []string{subject}})
			bustest.WantError(t, streams.Provision(t.Context(), js, 1, 4, bustest.Log(t)), "make bucket "+strings.SplitN(stream, "_", 2)[1])
		})
	}
}

func TestProvisionByManyHosts(t *testing.T) {
	t.Parallel()
	js := bustest.Open(t).JS
	var hosts errgroup.Group
	for range 5 {
		hosts.Go(func() error { return streams.Provision(context.Background(), js, 1, 4, zerolog.Nop()) })
	}
	if err := hosts.Wait(); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(fresh, bustest.ListStreams(t, js)); diff != "" {
		t.Error(diff)
	}
}

// Of hosts that do not agree on the number of lanes, one wins.
func TestProvisionByHostsThatDiffer(t *testing.T) {
	t.Parallel()
	js := bustest.Open(t).JS
	refusals := make(chan error, 2)
	for _, lanes := range []int{4, 8} {
		go func() { refusals <- streams.Provision(context.Background(), js, 1, lanes, zerolog.Nop()) }()
	}
	first, second := <-refusals, <-refusals
	if (first == nil) == (second == nil) || !errors.Is(errors.Join(first, second), streams.ErrLanes) {
		t.Errorf("got %v and %v, want one refused", first, second)
	}
}

func TestLaneCount(t *testing.T) {
	t.Parallel()
	for given, want := range map[int]int{0: 4, 1: 1, 16: 16} {
		if got := delivery.LaneCount(given); got != want {
			t.Errorf("%d: got %d, want %d", given, got, want)
		}
	}
}

func TestHealthy(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t)
	bustest.Provision(t, b.JS)
	if err := streams.Healthy(t.Context(), b.JS); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{bus.InboundStream, bus.RoutesStream, bus.SchedulesStream, bus.SessionsStream, bus.OutboundStream} {
		if err := b.JS.DeleteStream(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		bustest.WantError(t, streams.Healthy(t.Context(), b.JS), "stream "+name+" is gone")
		bustest.Provision(t, b.JS)
	}
	for _, name := range []string{bus.LanesBucket, bus.WaitingBucket, bus.SchedulesBucket} {
		if err := b.JS.DeleteKeyValue(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		bustest.WantError(t, streams.Healthy(t.Context(), b.JS), "bucket "+name+" is gone")
		bustest.Provision(t, b.JS)
	}
}

// A stream that is there, but does not keep what hosts write, is no better than none.
func TestHealthyMissesWhatStreamsShouldTake(t *testing.T) {
	t.Parallel()
	for want, edit := range map[string]func(*jetstream.StreamConfig){
		"stream AGENT_SESSIONS is sealed": func(c *jetstream.StreamConfig) { c.Sealed = true },
		"keeps nothing":                   func(c *jetstream.StreamConfig) { c.Retention = jetstream.InterestPolicy },
		"stream AGENT_SESSIONS does not take agent.session.>; a host that starts adds it": func(c *jetstream.StreamConfig) {
			c.Subjects = []string{"agent.snapshot.>"}
		},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			b := bustest.Open(t)
			bustest.Provision(t, b.JS)
			cfg := bustest.StreamConfig(t, b.JS, bus.SessionsStream)
			edit(&cfg)
			if _, err := b.JS.UpdateStream(t.Context(), cfg); err != nil {
				t.Fatal(err)
			}
			bustest.WantError(t, streams.Healthy(t.Context(), b.JS), want)
			states, _, _, err := streams.Survey(t.Context(), b.JS, 1, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range states {
				if s.Name == bus.SessionsStream {
					bustest.WantError(t, s.Fault, want)
				}
			}
		})
	}
}

// Of buckets what another program chose is reported too, and what hosts need is added: without a
// limit for markers no entry could expire.
func TestProvisionReportsAndWidensBuckets(t *testing.T) {
	t.Parallel()
	js := bustest.Open(t).JS
	for _, c := range []jetstream.KeyValueConfig{
		{Bucket: bus.WaitingBucket, TTL: time.Hour, Storage: jetstream.MemoryStorage, MaxBytes: 1 << 20},
		{Bucket: bus.ChannelsBucket},
	} {
		if _, err := js.CreateKeyValue(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	files := jetstream.ObjectStoreConfig{Bucket: bus.FilesBucket, TTL: time.Minute}
	if _, err := js.CreateObjectStore(t.Context(), files); err != nil {
		t.Fatal(err)
	}
	for _, replicas := range []int{1, 3} { // three: as in a cluster whose buckets were made with one
		var logged bustest.LogBuffer
		err := streams.Provision(t.Context(), js, replicas, 4, zerolog.New(&logged).Level(zerolog.WarnLevel))
		if err != nil && replicas == 1 {
			t.Fatal(err)
		}
		lines := map[string]string{}
		for line := range strings.Lines(logged.String()) {
			for _, name := range []string{"KV_AGENT_WAITING", "OBJ_AGENT_FILES", "KV_AGENT_TOKENS"} {
				if strings.Contains(line, `"stream":"`+name+`"`) {
					lines[name] = line
				}
			}
		}
		want := map[string][]string{
			"KV_AGENT_WAITING": {`"max_age":"1h0m0s"`, `"storage":"Memory"`, `"max_bytes":1048576`, "they stay as they are"},
			"OBJ_AGENT_FILES":  {`"max_age":"1m0s"`},
		}
		if replicas == 3 {
			want["KV_AGENT_TOKENS"] = []string{`"replicas":1`}
		}
		for name, settings := range want {
			for _, s := range settings {
				if !strings.Contains(lines[name], s) {
					t.Errorf("%d replicas, %s: logged %q, want it to say %s", replicas, name, lines[name], s)
				}
			}
		}
		if len(lines) != len(want) {
			t.Errorf("%d replicas: logged %q", replicas, lines)
		}
	}
	kv, err := js.KeyValue(t.Context(), bus.ChannelsBucket)
	if err == nil {
		_, err = kv.Create(t.Context(), "web", nil, jetstream.KeyTTL(time.Minute))
	}
	if err != nil {
		t.Errorf("an entry that expires: %v", err)
	}
	states, _, _, err := streams.Survey(t.Context(), js, 1, 4)
	if err != nil {
		t.Fatal(err)
	}
	foreign := map[string]string{}
	for _, s := range states {
		if s.Foreign != "" {
			foreign[s.Name] = s.Foreign
		}
	}
	want := map[string]string{"KV_AGENT_WAITING": "max_age 1h0m0s, storage Memory, max_bytes 1048576", "OBJ_AGENT_FILES": "max_age 1m0s"}
	if diff := cmp.Diff(want, foreign); diff != "" {
		t.Errorf("survey (-want +got):\n%s", diff)
	}
}

// What makes a stream forget an acknowledged message, or keep it elsewhere, is reported too.
func TestProvisionReportsWhatBreaksPromises(t *testing.T) {
	t.Parallel()
	js := bustest.Open(t).JS
	bustest.MakeStream(t, js, jetstream.StreamConfig{
		Name: bus.DeadStream, Subjects: []string{"agent.dead.>"}, PersistMode: jetstream.AsyncPersistMode, MaxConsumers: 3,
		SubjectTransform: &jetstream.SubjectTransformConfig{Source: "agent.dead.>", Destination: "buried.>"},
	})
	var logged bustest.LogBuffer
	if err := streams.Provision(t.Context(), js, 1, 4, zerolog.New(&logged).Level(zerolog.WarnLevel)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"persist_mode":"Async"`, `"subject_transform":"agent.dead.> to buried.>"`, `"max_consumers":3`} {
		if !strings.Contains(logged.String(), want) {
			t.Errorf("logged %s, want it to say %s", logged.String(), want)
		}
	}
}
