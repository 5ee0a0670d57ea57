package mcp_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/doors/doorstest"
	"agenthost/internal/waittest"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestMain(m *testing.M) { doorstest.Main(m) }

func address(h *doorstest.Host) string { return "http://" + h.HTTP() + "/mcp" }

// versions are those of the protocol that differ: with sessions, and without.
var versions = []string{"2025-11-25", "2026-07-28"}

// connect connects the client of the SDK.
func connect(t *testing.T, h *doorstest.Host, version string, opt *sdk.ClientOptions) *sdk.ClientSession {
	t.Helper()
	c := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, opt)
	s, err := c.Connect(bustest.Context(t), &sdk.StreamableClientTransport{Endpoint: address(h)}, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if got := s.InitializeResult().ProtocolVersion; got != version {
		t.Fatalf("version: got %s, want %s", got, version)
	}
	return s
}

func eachVersion(t *testing.T, test func(t *testing.T, version string)) {
	t.Helper()
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			test(t, version)
		})
	}
}

func call(t *testing.T, s *sdk.ClientSession, args map[string]any) *sdk.CallToolResult {
	t.Helper()
	res, err := s.CallTool(bustest.Context(t), &sdk.CallToolParams{Name: "ana", Arguments: args})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// words are the texts of a result.
func words(res *sdk.CallToolResult) (list []string) {
	for _, c := range res.Content {
		if text, ok := c.(*sdk.TextContent); ok {
			list = append(list, text.Text)
		}
	}
	return list
}

// A summary is the structured content of a result.
type summary struct {
	Session, Run, Text string
	Error              *bus.Error
	Waiting            []struct {
		ID, Kind, Text string
		Options        []string
	}
}

func read(t *testing.T, res *sdk.CallToolResult) (s summary) {
	t.Helper()
	data, err := json.Marshal(res.StructuredContent)
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTools(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, "")
	eachVersion(t, func(t *testing.T, version string) {
		list, err := connect(t, h, version, nil).ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, tool := range list.Tools {
			got = append(got, tool.Name+": "+tool.Description)
		}
		if diff := cmp.Diff([]string{"ana: Helps."}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestCall(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, "")
	eachVersion(t, func(t *testing.T, version string) {
		s := connect(t, h, version, nil)
		first := call(t, s, map[string]any{"text": "hi"})
		got := read(t, first)
		if w := words(first); first.IsError || len(w) != 2 || w[0] != "ana: hi" || !strings.Contains(w[1], got.Session) || got.Text != "ana: hi" {
			t.Errorf("got %q, %+v", w, got)
		}
		again := call(t, s, map[string]any{"text": "and now", "session": got.Session})
		if w := words(again); !slices.Equal(w, []string{"ana: and now"}) || read(t, again).Session != got.Session {
			t.Errorf("in the session: got %q", w)
		}
		if other := read(t, call(t, s, map[string]any{"text": "hi"})); other.Session == got.Session || other.Run == got.Run {
			t.Errorf("without a session: got %+v again", other)
		}
		if broken := call(t, s, map[string]any{"text": "broken"}); !broken.IsError || read(t, broken).Error == nil || words(broken)[0] == "" {
			t.Errorf("a run that fails: got %q, %+v", words(broken), read(t, broken))
		}
	})
}

func TestArguments(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, "")
	s := connect(t, h, versions[0], nil)
	for name, tt := range map[string]struct {
		args any
		want string
	}{
		"none":             {nil, "argument text is missing"},
		"no text":          {map[string]any{"text": ""}, "argument text is missing"},
		"a number":         {map[string]any{"text": 5}, "argument text is of type number; want a text"},
		"a list":           {map[string]any{"text": []int{1}}, "argument text is of type array"},
		"a session in one": {map[string]any{"text": "x", "session": map[string]any{}}, "argument session is of type object"},
		"a long session":   {map[string]any{"text": "x", "session": strings.Repeat("x", 300)}, "argument session has 300 bytes; want at most 256"},
		"zero bytes":       {map[string]any{"text": "a\x00b"}, "its text holds a NUL character"},
		"two megabytes":    {map[string]any{"text": strings.Repeat("x", 2<<20)}, "more than NATS takes"},
		"an answer":        {map[string]any{"text": "yes", "answers": "x"}, "argument session is missing"},
		"no such question": {map[string]any{"text": "yes", "session": "s", "answers": "x"}, `nothing waits under "x"`},
	} {
		res, err := s.CallTool(bustest.Context(t), &sdk.CallToolParams{Name: "ana", Arguments: tt.args})
		if err != nil || !res.IsError || !strings.Contains(strings.Join(words(res), ""), tt.want) {
			t.Errorf("%s: got %v, %+v, want %q", name, err, res, tt.want)
		}
	}
	if _, err := s.CallTool(bustest.Context(t), &sdk.CallToolParams{Name: "shy", Arguments: map[string]any{"text": "hi"}}); err == nil {
		t.Error("an agent that no door leads to is called")
	}
}

func TestProgress(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, "")
	eachVersion(t, func(t *testing.T, version string) {
		var mu sync.Mutex
		said, last := "", 0.0
		s := connect(t, h, version, &sdk.ClientOptions{
			ProgressNotificationHandler: func(_ context.Context, req *sdk.ProgressNotificationClientRequest) {
				mu.Lock()
				defer mu.Unlock()
				if req.Params.Progress <= last || req.Params.ProgressToken != "p" {
					t.Errorf("got %+v after %v", req.Params, last)
				}
				said, last = said+req.Params.Message, req.Params.Progress
			},
		})
		params := &sdk.CallToolParams{Name: "ana", Arguments: map[string]any{"text": "story"}}
		params.SetProgressToken("p")
		if res, err := s.CallTool(bustest.Context(t), params); err != nil || words(res)[0] != "Once upon a time." {
			t.Errorf("got %+v, %v", res, err)
		}
		waittest.Until(t, "progress is told", func() bool { // the client may hand out the result first
			mu.Lock()
			defer mu.Unlock()
			return said != ""
		})
		mu.Lock()
		defer mu.Unlock()
		if !strings.HasPrefix("Once upon a time.", said) {
			t.Errorf("progress: got %q", said)
		}
	})
}

// A client with forms is asked, one without gets to know what waits and answers by
// another call.
func TestQuestions(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, "")
	for name, tt := range map[string]struct{ text, action, answer, want string }{
		"approve":            {"write", "accept", "approve", "done: "},
		"deny":               {"write", "accept", "deny", "denied"},
		"decline":            {"write", "decline", "", "denied"},
		"an option":          {"colour", "accept", "Blue", "You like Blue."},
		"any text":           {"name", "accept", "Bo", "You like Bo."},
		"dismiss":            {"write", "cancel", "", "This waits for an answer."},
		"dismiss a question": {"colour", "cancel", "", "as text one of"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachVersion(t, func(t *testing.T, version string) {
				s := connect(t, h, version, &sdk.ClientOptions{
					ElicitationHandler: func(_ context.Context, req *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
						if req.Params.Message == "" {
							t.Error("it has no text")
						}
						return &sdk.ElicitResult{Action: tt.action, Content: map[string]any{"answer": tt.answer}}, nil
					},
				})
				if got := strings.Join(words(call(t, s, map[string]any{"text": tt.text})), ""); !strings.Contains(got, tt.want) {
					t.Errorf("got %q, want %q in it", got, tt.want)
				}
			})
		})
	}
}

func TestQuestionsByCalls(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, "")
	eachVersion(t, func(t *testing.T, version string) {
		s := connect(t, h, version, nil)
		for name, tt := range map[string]struct {
			text, answer, want string
			named              bool // by the id of the question
		}{
			"approve":          {"write", "approve", "done: ", true},
			"without its id":   {"write", "yes", "done: ", false},
			"for the session":  {"write", "approve session", "done: ", false},
			"deny":             {"write", "deny", "denied", true},
			"an option":        {"colour", "blue", "You like Blue.", true},
			"any text":         {"name", "approve", "You like approve.", true},
			"an option's name": {"colour", "Red", "You like Red.", false},
		} {
			res := call(t, s, map[string]any{"text": tt.text})
			asked := read(t, res)
			if res.IsError || len(asked.Waiting) != 1 || !strings.Contains(words(res)[0], asked.Waiting[0].ID) || !strings.Contains(words(res)[0], asked.Session) {
				t.Fatalf("%s: got %q, %+v", name, words(res), asked)
			}
			args := map[string]any{"text": tt.answer, "session": asked.Session}
			if tt.named {
				args["answers"] = asked.Waiting[0].ID
			}
			if got := strings.Join(words(call(t, s, args)), ""); !strings.Contains(got, tt.want) {
				t.Errorf("%s: got %q, want %q in it", name, got, tt.want)
			}
		}
	})
}

// Who may not give an answer is told so, and the question waits on.
func TestAnswerThatIsRefused(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, "")
	s := connect(t, h, versions[0], nil)
	asked := read(t, call(t, s, map[string]any{"text": "write"}))
	res := call(t, s, map[string]any{"text": "approve always", "session": asked.Session})
	if !res.IsError || !strings.Contains(words(res)[0], "agenthost approvals answer") {
		t.Errorf("got %q", words(res))
	}
	res = call(t, s, map[string]any{"text": "approve", "session": asked.Session})
	if !strings.HasPrefix(words(res)[0], "done: ") {
		t.Errorf("got %q", words(res))
	}
}

// Sent again, a message is handled once.
func TestTheSameCallAgain(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, "")
	var first summary
	for i := range 3 {
		s := connect(t, h, versions[i%2], nil)
		res, err := s.CallTool(bustest.Context(t), &sdk.CallToolParams{
			Meta: sdk.Meta{"agenthost/id": "1"}, Name: "ana", Arguments: map[string]any{"text": "hi"},
		})
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = read(t, res)
		} else if diff := cmp.Diff(first, read(t, res)); diff != "" {
			t.Errorf("again (-first +again):\n%s", diff)
		}
	}
	for _, id := range []any{1, true, []any{"1"}} { // would be two messages when it comes again
		res, err := connect(t, h, versions[0], nil).CallTool(bustest.Context(t), &sdk.CallToolParams{
			Meta: sdk.Meta{"agenthost/id": id}, Name: "ana", Arguments: map[string]any{"text": "hi"},
		})
		if err != nil || !res.IsError || !strings.Contains(strings.Join(words(res), ""), "agenthost/id in _meta is no text") {
			t.Errorf("the id %v: got %v, %+v", id, err, res)
		}
	}
	if n := h.Inbound(t); n != 1 {
		t.Errorf("%d messages are stored, want 1", n)
	}
}

// Who cancels a call stops the run; who loses the connection does not.
func TestCancel(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, "")
	s := connect(t, h, versions[0], nil)
	ctx, cancel := context.WithCancel(bustest.Context(t))
	done := make(chan struct{})
	go func() {
		defer close(done)
		if _, err := s.CallTool(ctx, &sdk.CallToolParams{Name: "ana", Arguments: map[string]any{"text": "endless", "session": "s"}}); err == nil {
			t.Error("got no error")
		}
	}()
	waittest.Until(t, "a run", func() bool { return runs(t, h) == 1 })
	cancel()
	<-done
	waittest.Until(t, "its end", func() bool { return runs(t, h) == 0 })
}

// A call that orders a session to stop ends when the run of that has.
func TestOrderToStopEnds(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, "")
	s, other := connect(t, h, versions[0], nil), connect(t, h, versions[0], nil)
	done := make(chan *sdk.CallToolResult, 1)
	go func() { done <- call(t, s, map[string]any{"text": "endless", "session": "s"}) }()
	waittest.Until(t, "a run", func() bool { return runs(t, h) == 1 })
	for _, res := range []*sdk.CallToolResult{call(t, other, map[string]any{"text": "/stop", "session": "s"}), <-done} {
		if got := read(t, res); !res.IsError || got.Error == nil || got.Error.Code != "cancelled" {
			t.Errorf("got %+v, %q", got, words(res))
		}
	}
}

func runs(t *testing.T, h *doorstest.Host) int {
	t.Helper()
	list, err := h.Client.Runs(bustest.Context(t))
	if err != nil {
		t.Fatal(err)
	}
	return len(list.Runs)
}
