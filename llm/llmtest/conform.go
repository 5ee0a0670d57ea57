package llmtest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"agenthost/llm"

	"github.com/google/go-cmp/cmp"
)

// A Dialect is a provider that speaks the event stream of some API. Dir holds
// one <case>.sse for each of the cases, a whole response body in the style of
// that API.
type Dialect struct {
	New func(t testing.TB, baseURL string) llm.Provider
	// Make is New with all that a provider takes.
	Make func(t testing.TB, cfg llm.Config, transport http.RoundTripper) llm.Provider
	Dir  string
	// WholeCalls says that the API sends a call in one piece, never amid an answer.
	WholeCalls bool
}

// An outcome is what a case comes to, whatever the API.
type outcome struct {
	text      string
	inPieces  bool // the text comes as it is said
	orNoText  bool // the API may have no words for it
	reasoning string
	calls     []llm.Part // without ids
	usage     llm.Usage  // zero: not looked at
	finish    llm.Finish // empty: ends with a transient provider_unavailable
}

var (
	getWeather = llm.Part{Type: llm.ToolCall, Name: "get_weather", Args: []byte(`{"city":"Paris"}`)}
	getTime    = llm.Part{Type: llm.ToolCall, Name: "get_time", Args: []byte(`{"zone":"Europe/Paris"}`)}
	now        = llm.Part{Type: llm.ToolCall, Name: "now", Args: []byte(`{}`)}
)

// outcomes are the cases of Conform.
var outcomes = map[string]outcome{
	"text":            {text: "Hello, wörld!", inPieces: true, usage: llm.Usage{Input: 12, Output: 5}, finish: llm.FinishStop},
	"tools":           {calls: []llm.Part{getWeather}, finish: llm.FinishToolCalls},
	"parallel_tools":  {calls: []llm.Part{getWeather, getTime}, finish: llm.FinishToolCalls},
	"empty_args":      {calls: []llm.Part{now}, finish: llm.FinishToolCalls},
	"reasoning":       {reasoning: "Let me think.", text: "42.", finish: llm.FinishStop},
	"refusal":         {text: "I can't help with that.", orNoText: true, finish: llm.FinishContentFilter},
	"content_filter":  {text: "Some", finish: llm.FinishContentFilter},
	"length":          {text: "Once upon", finish: llm.FinishLength},
	"error_midstream": {text: "Hel"},
	"cut":             {text: "Hel"},
	"text_tools":      {text: "Let me look.", calls: []llm.Part{getWeather}, finish: llm.FinishToolCalls},
	"reasoning_tools": {reasoning: "Let me think.", calls: []llm.Part{getWeather}, finish: llm.FinishToolCalls},
	"usage":           {text: "42.", inPieces: true, usage: llm.Usage{Input: 120, CacheRead: 100, Output: 30}, finish: llm.FinishStop},
	"error_in_call":   {},
	"cut_in_call":     {},
}

// ToolRequest is what Conform asks: Request with the tools of its cases.
func ToolRequest() llm.Request {
	r := Request()
	r.Tools = []llm.ToolDef{
		{Name: "get_weather", Schema: []byte(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`)},
		{Name: "get_time", Schema: []byte(`{"type":"object","properties":{"zone":{"type":"string"}},"required":["zone"]}`)},
		{Name: "now", Description: "tells the time here"},
	}
	return r
}

// Conform serves the streams of a dialect, whole, byte by byte, split in two at
// each byte and cut at each, and checks that each comes to what it does with every
// other provider.
func Conform(t *testing.T, d Dialect) {
	for name, want := range outcomes {
		stream, err := os.ReadFile(filepath.Join(d.Dir, name+".sse"))
		if err != nil {
			t.Error(err)
			continue
		}
		for way, check := range map[string]func(t *testing.T){
			"":              func(t *testing.T) { conforms(t, d, stream, len(stream), want) },
			" byte by byte": func(t *testing.T) { conforms(t, d, stream, 1, want) },
			" split":        func(t *testing.T) { splits(t, d, stream, everywhere(stream), want) },
			" cut":          func(t *testing.T) { cuts(t, d, stream, everywhere(stream), want) },
		} {
			t.Run(name+way, func(t *testing.T) {
				t.Parallel()
				check(t)
			})
		}
	}
}

func conforms(t *testing.T, d Dialect, stream []byte, piece int, want outcome) {
	server := httptest.NewServer(inPieces(stream, piece))
	t.Cleanup(server.Close)
	want.expect(t, Read(d.New(t, server.URL).Stream(t.Context(), ToolRequest())))
}

// whole and byteByByte need no network.
func whole(t *testing.T, d Dialect, stream []byte, want outcome) {
	p := d.Make(t, llm.Config{}, Body(func() io.Reader { return bytes.NewReader(stream) }))
	want.expect(t, Read(p.Stream(t.Context(), ToolRequest())))
}

func byteByByte(t *testing.T, d Dialect, stream []byte, want outcome) {
	p := d.Make(t, llm.Config{}, Body(func() io.Reader { return iotest.OneByteReader(bytes.NewReader(stream)) }))
	want.expect(t, Read(p.Stream(t.Context(), ToolRequest())))
}

// splits has the stream come in two reads, divided at each of these bytes.
func splits(t *testing.T, d Dialect, stream []byte, places []int, want outcome) {
	var at int
	p := d.Make(t, llm.Config{}, Body(func() io.Reader {
		return io.MultiReader(bytes.NewReader(stream[:at]), bytes.NewReader(stream[at:]))
	}))
	for _, at = range places {
		a := Read(p.Stream(t.Context(), ToolRequest()))
		if err := errors.Join(a.Fault, want.check(a)); err != nil {
			t.Fatalf("split at byte %d: %v\nafter %+v", at, err, a.Message)
		}
	}
}

// cuts has the stream end at each of these bytes: what comes is all there is, or
// none of it counts and another try may do better.
func cuts(t *testing.T, d Dialect, stream []byte, places []int, want outcome) {
	var at int
	p := d.Make(t, llm.Config{}, Body(func() io.Reader { return bytes.NewReader(stream[:at]) }))
	broken := want
	broken.finish = ""
	want.usage = llm.Usage{} // which comes last
	for _, at = range places {
		a := Read(p.Stream(t.Context(), ToolRequest()))
		err := a.Fault
		if a.Err == nil {
			err = errors.Join(err, want.check(a))
		} else {
			err = errors.Join(err, broken.ends(a))
			if len(a.Message.Calls()) > 0 {
				err = errors.Join(err, errors.New("a call of a stream that was cut"))
			}
		}
		if err != nil {
			t.Fatalf("cut at byte %d: %v\nafter %+v", at, err, a.Message)
		}
	}
}

// inPieces answers every request with the stream, so many bytes at a time.
func inPieces(stream []byte, piece int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for rest := stream; len(rest) > 0; rest = rest[min(piece, len(rest)):] {
			_, _ = w.Write(rest[:min(piece, len(rest))])
			w.(http.Flusher).Flush()
		}
	}
}

func (o outcome) expect(t *testing.T, a Answer) {
	t.Helper()
	if err := errors.Join(a.Fault, o.check(a)); err != nil {
		t.Errorf("%v\nafter %+v", err, a.Message)
	}
}

func (o outcome) check(a Answer) error {
	var wrong []error
	same := func(what string, want, got any) {
		if reflect.DeepEqual(want, got) { // far cheaper
			return
		}
		if diff := cmp.Diff(want, got); diff != "" {
			wrong = append(wrong, fmt.Errorf("%s: -want +got\n%s", what, diff))
		}
	}
	if text := a.Message.Text(); text != "" || !o.orNoText {
		same("text", o.text, text)
	}
	if o.inPieces && countTexts(a.Deltas) < 2 {
		wrong = append(wrong, errors.New("text: came in one piece"))
	}
	same("reasoning", o.reasoning, thought(a.Message))
	same("calls", o.calls, withoutIDs(a.Message.Calls()))
	if o.usage != (llm.Usage{}) {
		same("usage", o.usage, a.Usage)
	}
	if a.Usage.Reasoning > a.Usage.Output {
		wrong = append(wrong, fmt.Errorf("usage: output does not have the reasoning in it: %+v", a.Usage))
	}
	return errors.Join(append(wrong, o.ends(a))...)
}

func (o outcome) ends(a Answer) error {
	if o.finish != "" {
		if a.Err != nil || a.Finish != o.finish {
			return errors.Join(fmt.Errorf("ended with %q, want %q", a.Finish, o.finish), a.Err)
		}
		return nil
	}
	var e *llm.Error
	if !errors.As(a.Err, &e) || e.Code != llm.CodeProviderUnavailable || !e.Transient {
		return errors.Join(fmt.Errorf("ended with %q, want a transient provider_unavailable", a.Finish), a.Err)
	}
	return nil
}

func countTexts(deltas []llm.Delta) int {
	n := 0
	for _, d := range deltas {
		if d.Text != "" {
			n++
		}
	}
	return n
}

func thought(m llm.Message) string {
	var b strings.Builder
	for _, p := range m.Parts {
		if p.Type == llm.Reasoning {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

// withoutIDs leaves what all APIs have in common; an id has to be there.
func withoutIDs(calls []llm.Part) []llm.Part {
	var bare []llm.Part
	for _, c := range calls {
		if c.Call == "" {
			c.Name += " without an id"
		}
		args := bytes.ReplaceAll(c.Args, []byte(" "), nil)
		bare = append(bare, llm.Part{Type: c.Type, Name: c.Name, Text: c.Text, Error: c.Error, Args: args})
	}
	return bare
}
