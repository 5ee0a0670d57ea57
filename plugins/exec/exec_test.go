package exec_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/filestore"
	"agenthost/bus/publishing"
	"agenthost/bus/records"
	"agenthost/plugins"
	"agenthost/plugins/exec"
	"agenthost/plugins/settings"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// A served is a plugin with a courier on a NATS of its own.
type served struct {
	*platform
	bus     *bus.Bus
	channel *exec.Channel
	courier *plugins.Courier
	log     *bustest.LogBuffer
	stop    func()
}

func serve(t *testing.T, cfg func(*platform) settings.Exec) *served {
	t.Helper()
	s := &served{platform: newPlatform(t), bus: bustest.Open(t), log: new(bustest.LogBuffer)}
	bustest.Provision(t, s.bus.JS)
	publisher, err := publishing.New(s.bus.NC, s.bus.Log)
	if err != nil {
		t.Fatal(err)
	}
	background(t, publisher.Run)
	log := zerolog.New(s.log)
	if s.channel, err = exec.New("mybot", cfg(s.platform), log); err != nil {
		t.Fatal(err)
	}
	s.courier = plugins.New(plugins.Account{Channel: "mybot"}, s.channel, plugins.Parts{
		NC: s.bus.NC, JS: s.bus.JS, Publisher: publisher, Files: filestore.New(s.bus.JS), Reader: records.NewReader(s.bus.JS),
		Host: "h", Log: log, Agents: func() []string { return []string{"ana"} },
	})
	s.stop = background(t, s.courier.Run)
	return s
}

func background(t testing.TB, run func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = run(ctx) // it ends with ctx
	}()
	stop = sync.OnceFunc(func() { cancel(); <-done })
	t.Cleanup(stop)
	return stop
}

func (s *served) eventually(what string, ok func() bool) {
	s.Helper()
	bustest.Eventually(s, what, ok)
}

// inbound waits for n messages of the program and returns the last.
func (s *served) inbound(n uint64) string {
	s.Helper()
	stream, err := s.bus.JS.Stream(s.Context(), bus.InboundStream)
	if err != nil {
		s.Fatal(err)
	}
	var last *jetstream.RawStreamMsg
	s.eventually(fmt.Sprintf("%d messages", n), func() bool {
		last, err = stream.GetMsg(s.Context(), n)
		return err == nil
	})
	return string(last.Data)
}

// reply publishes a reply to the person ana.
func (s *served) reply(id, text string) {
	s.Helper()
	data := fmt.Sprintf(`{"id":%q,"agent":"ana","session":"mybot/dm/ana","kind":"reply","to":"ana","text":%q,"final":true,"future":1}`, id, text)
	if _, err := s.bus.JS.Publish(s.Context(), "plugin.outbound.mybot", []byte(data)); err != nil {
		s.Fatal(err)
	}
}

// An id that the host would refuse later is refused at once.
func TestLongIDsOfAPlugin(t *testing.T) {
	t.Parallel()
	s := serve(t, func(p *platform) settings.Exec { return p.settings() })
	for i, field := range []string{"id", "from", "chat", "thread"} {
		for _, bytes := range []int{257, 256} {
			m := map[string]any{"id": fmt.Sprint(bytes, field), "from": "ana", "chat": "c", "text": "Hi"}
			m[field] = strings.Repeat("x", bytes)
			s.write(m)
		}
		s.eventually(field, func() bool { return len(s.heard("accepted")) == i+1 && len(s.heard("refused")) == i+1 })
		if got, _ := s.heard("refused")[i]["error"].(string); !strings.Contains(got, "its "+field+" has 257 bytes; want at most 256") {
			t.Errorf("%s: refused with %q", field, got)
		}
	}
}

// A message with a field of another type is refused by the name of that field, and under its id.
func TestRefusedByAFieldOfAnotherType(t *testing.T) {
	t.Parallel()
	s := serve(t, func(p *platform) settings.Exec { return p.settings() })
	s.eventually("hello", func() bool { return len(s.heard("hello")) == 1 })
	for i, tt := range []struct{ message, id, why string }{
		{`{"id":5,"text":"x"}`, "5", "id cannot be a number"},
		{`{"id":{"a":1},"text":"x"}`, "", "id cannot be an object"},
		{`{"id":"a","text":7}`, "a", "text cannot be a number"},
		{`{"text":[],"id":"b"}`, "b", "text cannot be an array"},
		{`["a"]`, "", "want an inbound envelope"},
	} {
		s.raw(`{"type":"inbound","message":` + tt.message + `}`)
		s.eventually(tt.message, func() bool { return len(s.heard("refused")) == i+1 })
		got := s.heard("refused")[i]
		if why, _ := got["error"].(string); got["id"] != tt.id || !strings.Contains(why, tt.why) {
			t.Errorf("%s: refused %v, want %q, and that %s", tt.message, got, tt.id, tt.why)
		}
	}
}

func TestLinesOfAPlugin(t *testing.T) {
	t.Parallel()
	s := serve(t, func(p *platform) settings.Exec { return p.settings() })
	s.eventually("hello", func() bool { return len(s.heard("hello")) == 1 })
	if h := s.heard("hello")[0]; h["v"] != 1.0 || h["channel"] != "mybot" || h["instance"] != "" {
		t.Errorf("hello: got %v", h)
	}
	s.raw("this is no line of a plugin")
	s.raw(`{"type":"unknown"}`)
	s.write(map[string]any{"id": "a", "from": "ana", "text": "Hi", "own": map[string]int{"x": 1}})
	if got := s.inbound(1); !strings.Contains(got, `"own":{"x":1}`) {
		t.Errorf("the message is %s", got)
	}
	s.raw(s.last) // again
	s.raw(`{"type":"inbound","message":{"id":"b","from":"ana"}}`)
	s.raw(`{"type":"inbound","message":"words"}`)
	s.raw(`{"type":"inbound","message":{"id":"c","from":"ana","text":"` + strings.Repeat("x", 900_000) + `"}}`)
	s.raw(`{"type":"inbound","message":{"id":"d","from":"ana","text":"` + strings.Repeat("x", 2_000_000) + `"}}`)
	s.eventually("accepted and refused", func() bool { return len(s.heard("accepted")) == 3 && len(s.heard("refused")) == 3 })
	for i, want := range []string{"a", "a", "c"} {
		if got := s.heard("accepted")[i]["id"]; got != want {
			t.Errorf("accepted %v, want %s", got, want)
		}
	}
	for i, want := range []string{"b", "", "d"} {
		if got := s.heard("refused")[i]; got["id"] != want || got["error"] == "" {
			t.Errorf("refused %v, want %q and why", got, want)
		}
	}
	s.inbound(2)
	for _, words := range []string{"this is no line of a plugin", "unknown"} {
		if !strings.Contains(s.log.String(), words) {
			t.Errorf("the log does not have %q", words)
		}
	}
	s.reply("r1", "<Hello> & welcome")
	s.eventually("the reply", func() bool { return len(s.heard("outbound")) == 1 })
	if m := s.heard("outbound")[0]["message"].(map[string]any); m["text"] != "<Hello> & welcome" || m["future"] != 1.0 {
		t.Errorf("the reply is %v", m)
	}
}

func TestDeltasForWhoWantsThem(t *testing.T) {
	t.Parallel()
	s := serve(t, func(p *platform) settings.Exec { return p.settings() })
	piece := plugins.Delta{Agent: "ana", Session: "k", To: plugins.Place{To: "ana", Chat: "c"}, Text: "He"}
	s.eventually("hello", func() bool { return len(s.heard("hello")) == 1 })
	s.channel.Delta(piece)
	s.raw(`{"type":"hello","stream":true}`)
	s.eventually("the delta", func() bool {
		s.channel.Delta(piece)
		return len(s.heard("delta")) > 0
	})
	if d := s.heard("delta")[0]; d["agent"] != "ana" || d["session"] != "k" || d["to"] != "ana" || d["chat"] != "c" || d["text"] != "He" {
		t.Errorf("got %v", d)
	}
}

func TestAnotherRunOfTheProgram(t *testing.T) {
	t.Parallel()
	s := serve(t, func(p *platform) settings.Exec { return p.settings() })
	s.mu.Lock()
	s.silent = true
	s.mu.Unlock()
	s.eventually("hello", func() bool { return len(s.heard("hello")) == 1 })
	s.reply("r1", "comes again")
	s.eventually("the reply", func() bool { return len(s.heard("outbound")) == 1 })
	s.mu.Lock()
	s.silent = false
	s.mu.Unlock()
	s.crash()
	s.eventually("the reason", func() bool { return strings.Contains(s.log.String(), "it is started again in 1s") })
	s.eventually("the reply again", func() bool { return len(s.shown("")) == 1 })
	if n := len(s.heard("hello")); n != 2 {
		t.Errorf("the program was started %d times, want 2", n)
	}
}

// What a program wrote before it died counts.
func TestLastWords(t *testing.T) {
	t.Parallel()
	script := `read hello; printf '%s\n' '{"type":"inbound","message":{"id":"last","from":"ana","text":"words"}}'; echo why >&2; exit 3`
	s := serve(t, func(*platform) settings.Exec { return settings.Exec{Command: []string{"sh", "-c", script}} })
	if got := s.inbound(1); !strings.Contains(got, "words") {
		t.Errorf("got %s", got)
	}
	s.eventually("the reason", func() bool { return strings.Contains(s.courier.Status().LastError, "exit status 3: why") })
}

func TestNoProgram(t *testing.T) {
	t.Parallel()
	s := serve(t, func(*platform) settings.Exec { return settings.Exec{Command: []string{"/no/such/program"}} })
	s.eventually("the reason", func() bool {
		return strings.Contains(s.courier.Status().LastError, `start "/no/such/program"`)
	})
}

// A program gets few of the host's variables, and those of its settings.
func TestEnvironment(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "secret")
	script := `read hello; printf '{"type":"inbound","message":{"id":"1","from":"ana","text":"%s %s %s"}}\n' "[$OPENAI_API_KEY]" "[$K]" "${PATH:+path}"; read stop`
	s := serve(t, func(*platform) settings.Exec {
		return settings.Exec{Command: []string{"sh", "-c", script}, Env: map[string]string{"K": "v"}}
	})
	if got := s.inbound(1); !strings.Contains(got, "[] [v] path") {
		t.Errorf("got %s", got)
	}
}

func TestStop(t *testing.T) {
	t.Parallel()
	t.Run("in words", func(t *testing.T) {
		t.Parallel()
		s := serve(t, func(p *platform) settings.Exec { return p.settings() })
		s.eventually("hello", func() bool { return len(s.heard("hello")) == 1 })
		s.stop()
		s.eventually("stop", func() bool { return len(s.heard("stop")) == 1 }) // it comes by a socket of the test's program
	})
	t.Run("with replies under way", func(t *testing.T) {
		t.Parallel()
		s := serve(t, func(p *platform) settings.Exec { return p.settings("STUBBORN") })
		s.eventually("hello", func() bool { return len(s.heard("hello")) == 1 })
		s.mu.Lock()
		s.atStop = true
		s.mu.Unlock()
		s.reply("r1", "one")
		s.reply("r2", "two")
		s.eventually("a reply", func() bool { return len(s.heard("outbound")) == 1 })
		s.stop() // at stop it says that it has delivered the first
		consumer, err := s.bus.JS.Consumer(t.Context(), bus.OutboundStream, "plugin-mybot")
		if err != nil {
			t.Fatal(err)
		}
		s.eventually("one is taken, and one left", func() bool {
			info, err := consumer.Info(t.Context())
			return err == nil && info.NumPending+uint64(info.NumAckPending) == 1
		})
		if n := len(s.heard("outbound")); n != 1 {
			t.Errorf("%d replies were handed out", n)
		}
	})
	t.Run("by a signal", func(t *testing.T) {
		t.Parallel()
		s := serve(t, func(p *platform) settings.Exec { return p.settings("STUBBORN") })
		s.eventually("hello", func() bool { return len(s.heard("hello")) == 1 })
		s.stop() // it does not end by itself, and so by TERM
	})
	t.Run("with what it started", func(t *testing.T) {
		t.Parallel()
		// The helper holds the output open and does not hear TERM.
		script := `trap '' TERM; read hello; (trap '' TERM; sleep 300) & wait`
		s := serve(t, func(*platform) settings.Exec { return settings.Exec{Command: []string{"sh", "-c", script}} })
		s.eventually("the program runs", func() bool { return s.courier.Status().State == plugins.StateConnected })
		s.stop()
	})
}

func TestDeliverAfterTheEnd(t *testing.T) {
	t.Parallel()
	c, err := exec.New("mybot", settings.Exec{Command: []string{"true"}}, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	over := errors.New("the host stops")
	cancel(over)
	if _, err := c.Deliver(ctx, plugins.Message{Reply: &bus.Outbound{ID: "r"}}); !errors.Is(err, over) {
		t.Errorf("got %v, want %v", err, over)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	c, err := exec.New("mybot", settings.Exec{}, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	if !c.Limits().Whole {
		t.Error("replies are cut")
	}
	if err := c.Typing(t.Context(), plugins.Place{}); err != nil {
		t.Error(err)
	}
	if id, err := c.Preview(t.Context(), plugins.Place{}, "", ""); id != "" || err != nil {
		t.Errorf("got %q and error %v", id, err)
	}
}

// A program that says of no reply what has become of it gets those of all other chats.
func TestRepliesOfManyChats(t *testing.T) {
	t.Parallel()
	s := serve(t, func(p *platform) settings.Exec {
		p.silent = true
		return p.settings()
	})
	s.eventually("hello", func() bool { return len(s.heard("hello")) == 1 })
	const chats = 100
	for i := range chats {
		data := fmt.Sprintf(`{"id":"r%d","agent":"ana","session":"mybot/dm/p%d","kind":"reply","to":"p%d","text":"hi","final":true}`, i, i, i)
		if _, err := s.bus.JS.Publish(s.Context(), "plugin.outbound.mybot", []byte(data)); err != nil {
			s.Fatal(err)
		}
	}
	s.eventually("all replies", func() bool { return len(s.heard("outbound")) == chats })
}
