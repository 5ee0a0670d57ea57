package llmtest

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"agenthost/llm"
)

// How much of an answer without an end a provider may take before it gives up, and how much
// its caller takes.
const (
	mostTaken = 80 << 20
	mostGiven = 1 << 20
)

var errTaken = errors.New("the provider takes all that comes")

// Endless has a server of a dialect say a piece again and again behind the begin of a stream,
// and checks that the provider does not keep all of it: it gives up, or gives it to its caller,
// whose bound then counts.
func Endless(t *testing.T, d Dialect, begin, piece string) {
	t.Helper()
	p := d.Make(t, llm.Config{}, RoundTripper(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(io.MultiReader(strings.NewReader(begin), &repeater{piece: piece}))}, nil
	}))
	given := 0
	for delta, err := range p.Stream(t.Context(), ToolRequest()) {
		if err != nil {
			if e := llm.AsError(err); errors.Is(err, errTaken) || e.Code != llm.CodeProviderUnavailable || !strings.Contains(err.Error(), "is longer than") {
				t.Errorf("got %v, want it to be too long", err)
			}
			return
		}
		if given += len(delta.Text) + len(delta.Reasoning) + len(delta.Meta); given > mostGiven {
			return
		}
	}
	t.Error("the stream has ended")
}

// A repeater repeats a piece until that is far too much.
type repeater struct {
	piece string
	at    int
	taken int
}

func (r *repeater) Read(b []byte) (int, error) {
	if r.taken > mostTaken {
		return 0, errTaken
	}
	n := copy(b, r.piece[r.at:])
	r.at, r.taken = (r.at+n)%len(r.piece), r.taken+n
	return n, nil
}
