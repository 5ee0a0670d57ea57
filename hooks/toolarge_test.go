package hooks_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/filestore"
	"agenthost/hooks"
)

const smallPayload = 64 << 10

// smallNATS takes messages of 64 KiB at most.
func smallNATS(t *testing.T) *bus.Bus {
	t.Helper()
	url, _ := bustest.Server(t, func(o *server.Options) { o.MaxPayload = smallPayload })
	b := bustest.OpenConfig(t, bus.Config{URL: url})
	bustest.Provision(t, b.JS)
	return b
}

// A cutRequest is the request of a hook that does not fit into one message.
type cutRequest struct {
	hooks.Call
	Cut struct {
		Object string   `json:"object"`
		Size   int      `json:"size"`
		Args   []string `json:"args"`
	} `json:"cut"`
}

func decode(t *testing.T, data []byte) (r cutRequest) {
	t.Helper()
	if err := json.Unmarshal(data, &r); err != nil {
		t.Errorf("decode %.200s: %v", data, err)
	}
	return r
}

// stored is how many messages the object store has.
func stored(t *testing.T, js jetstream.JetStream) uint64 {
	t.Helper()
	s, err := js.Stream(t.Context(), "OBJ_"+bus.FilesBucket)
	if err != nil {
		t.Fatal(err)
	}
	return s.CachedInfo().State.Msgs
}

// long is an argument whose JSON has so many bytes and more.
func long(n int, shape string) json.RawMessage {
	list := func(one func(i int) string) string {
		var b strings.Builder
		for i := 0; b.Len() < n; i++ {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(one(i))
		}
		return b.String()
	}
	switch shape {
	case "text":
		return raw(`{"text":"casino ` + strings.Repeat("x", n) + `"}`)
	case "escapes":
		return raw(`{"text":"casino ` + strings.Repeat(`\u0001`, n/6) + `"}`)
	case "runes":
		return raw(`{"text":"casino ` + strings.Repeat(`ä`, n/2) + `"}`)
	case "markup":
		return raw(`{"text":"casino ` + strings.Repeat(`<`, n) + `"}`)
	case "fields":
		return raw(`{` + list(func(i int) string { return fmt.Sprintf(`"a%d":"x"`, i) }) + `,"text":"casino"}`)
	case "name of a field":
		return raw(`{"` + strings.Repeat("k", n) + `":1,"text":"casino"}`)
	case "number":
		return raw(`{"a":` + strings.Repeat("1", n) + `,"text":"casino"}`)
	case "depth":
		return raw(`{"text":"casino","a":` + strings.Repeat("[", 5000) + `"` + strings.Repeat("x", n) + `"` + strings.Repeat("]", 5000) + `}`)
	case "tree":
		tree := `"x"`
		for range 3 {
			tree = "[" + strings.TrimSuffix(strings.Repeat(tree+",", 60), ",") + "]"
		}
		return raw(`{"text":"casino","a":` + tree + `}`)
	}
	return raw(`{"text":"casino","list":[` + list(func(i int) string { return fmt.Sprint(i) }) + `]}`)
}

// A request that does not fit into one message is asked all the same, with all of it in
// an object for as long as the hook is asked.
func TestRemoteTooLarge(t *testing.T) {
	t.Parallel()
	b := smallNATS(t)
	files := filestore.New(b.JS)
	for _, shape := range []string{"text", "escapes", "runes", "markup", "fields", "name of a field", "number", "depth", "tree", "list"} {
		for _, answer := range []string{`{"action":"continue"}`, `{"action":"abort","reason":"No."}`} {
			t.Run(shape+answer[10:17], func(t *testing.T) {
				r := hooks.New(bustest.Log(t))
				args := hooks.Args{"message": long(200_000, shape), "small": raw(`"kept"`)}
				subject := "acme." + strings.ReplaceAll(shape, " ", "-") + answer[11:14]
				asked, whole := make(chan []byte, 1), make(chan []byte, 1)
				_, err := b.NC.Subscribe(subject, func(m *nats.Msg) {
					data, err := files.Get(t.Context(), decode(t, m.Data).Cut.Object)
					if err != nil {
						t.Error(err)
					}
					asked <- m.Data
					whole <- data
					if err := m.Respond([]byte(answer)); err != nil {
						t.Error(err)
					}
				})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := r.AddRemote(b.NC, files, []hooks.Config{{On: hooks.BeforeMessage, Subject: subject, Timeout: time.Minute}}); err != nil {
					t.Fatal(err)
				}
				out := r.Fire(t.Context(), hooks.Call{Hook: hooks.BeforeMessage, Agent: "ana", Args: args})
				if !strings.Contains(answer, string(out.Action)) || len(out.Acts) > 0 && out.Acts[0].Err != nil {
					t.Fatalf("got %q, %v, want %s", out.Action, out.Acts, answer)
				}
				got, all := decode(t, <-asked), <-whole
				message := struct{ Text string }{}
				if err := json.Unmarshal(got.Args["message"], &message); err != nil || !strings.HasPrefix(message.Text, "casino") {
					t.Errorf("the hook saw %.200s, %v", got.Args["message"], err)
				}
				if shape == "text" && !strings.HasSuffix(message.Text, "[cut: 200007 bytes in all]") {
					t.Errorf("the hook saw a text that ends with %q", message.Text[max(0, len(message.Text)-60):])
				}
				if string(got.Args["small"]) != `"kept"` || len(got.Cut.Args) != 1 || got.Cut.Args[0] != "message" || got.Cut.Size != len(all) {
					t.Errorf("the hook saw %s and %+v of %d bytes", got.Args["small"], got.Cut, len(all))
				}
				want, err := json.Marshal(hooks.Call{Hook: hooks.BeforeMessage, Agent: "ana", Args: args})
				if err != nil || string(all) != string(want) {
					t.Errorf("the object has %.100s, want %.100s, %v", all, want, err)
				}
			})
		}
	}
	bustest.Eventually(t, "the objects are deleted", func() bool { return stored(t, b.JS) == 0 })
}

// Of many messages of a model those that came last are whole.
func TestRemoteTooManyMessages(t *testing.T) {
	t.Parallel()
	b := smallNATS(t)
	var list []string
	for i := range 3000 {
		list = append(list, fmt.Sprintf(`{"role":"user","text":"%d %s"}`, i, strings.Repeat("y", 400)))
	}
	asked := respond(t, b.NC, "acme.many", `{"action":"override","args":{"messages":[{"role":"user","text":"less"}]}}`)
	r := hooks.New(bustest.Log(t))
	closed := hooks.Config{On: hooks.BeforeModelCall, Subject: "acme.many", Fail: hooks.FailClosed, Timeout: time.Minute}
	if _, err := r.AddRemote(b.NC, filestore.New(b.JS), []hooks.Config{closed}); err != nil {
		t.Fatal(err)
	}
	call := hooks.Call{Hook: hooks.BeforeModelCall, Args: hooks.Args{"messages": raw("[" + strings.Join(list, ",") + "]")}}
	out := r.Fire(t.Context(), call)
	if out.Action != hooks.Override || string(out.Args["messages"]) != `[{"role":"user","text":"less"}]` {
		t.Fatalf("got %q and %.100s, want the answer of the hook", out.Action, out.Args["messages"])
	}
	var seen []json.RawMessage
	if err := json.Unmarshal(decode(t, []byte(<-asked)).Args["messages"], &seen); err != nil {
		t.Fatal(err)
	}
	if len(seen) < 40 || string(seen[len(seen)-1]) != list[2999] {
		t.Errorf("the hook saw %d messages, the last %.100s", len(seen), seen[len(seen)-1])
	}
}

type noFiles struct{}

func (noFiles) Lend(context.Context, []byte) (string, error) { return "", errors.New("no room") }
func (noFiles) TakeBack(context.Context, string) error       { return nil }

type slowFiles struct{ noFiles }

func (slowFiles) Lend(ctx context.Context, _ []byte) (string, error) {
	<-ctx.Done()
	return "", ctx.Err()
}

// A store that has no room, or takes too long, keeps no hook from being asked.
func TestRemoteTooLargeWithoutAStore(t *testing.T) {
	t.Parallel()
	b := smallNATS(t)
	for name, files := range map[string]hooks.Files{"full": noFiles{}, "slow": slowFiles{}} {
		asked := respond(t, b.NC, "acme."+name, `{"action":"abort","reason":"No."}`)
		r := hooks.New(bustest.Log(t))
		open := hooks.Config{On: hooks.BeforeMessage, Subject: "acme." + name, Timeout: 6 * time.Second}
		if _, err := r.AddRemote(b.NC, files, []hooks.Config{open}); err != nil {
			t.Fatal(err)
		}
		out := r.Fire(t.Context(), hooks.Call{Hook: hooks.BeforeMessage, Args: hooks.Args{"message": long(200_000, "text")}})
		if out.Reason != "No." {
			t.Fatalf("%s: got %q, %v", name, out.Action, out.Acts)
		}
		if got := decode(t, []byte(<-asked)); got.Cut.Object != "" || got.Cut.Size < 200_000 {
			t.Errorf("%s: the hook was told %+v", name, got.Cut)
		}
	}
}

// An answer that does not fit into a message is an error of the hook.
func TestRemoteAnswerTooLarge(t *testing.T) {
	t.Parallel()
	b := smallNATS(t)
	refused := make(chan error, 1)
	if _, err := b.NC.Subscribe("acme.long", func(m *nats.Msg) { refused <- m.Respond(make([]byte, smallPayload+1)) }); err != nil {
		t.Fatal(err)
	}
	r := hooks.New(zerolog.Nop())
	closed := hooks.Config{On: hooks.BeforeMessage, Subject: "acme.long", Fail: hooks.FailClosed, Timeout: 100 * time.Millisecond}
	if _, err := r.AddRemote(b.NC, filestore.New(b.JS), []hooks.Config{closed}); err != nil {
		t.Fatal(err)
	}
	out := r.Fire(t.Context(), hooks.Call{Hook: hooks.BeforeMessage, Args: hooks.Args{"message": raw(`{"text":"hi"}`)}})
	if err := <-refused; !errors.Is(err, nats.ErrMaxPayload) || out.Action != hooks.Abort || out.Acts[0].Err == nil {
		t.Errorf("got %q, %v, and %v for the responder", out.Action, out.Acts, err)
	}
}
