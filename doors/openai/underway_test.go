package openai_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"agenthost/bus/bustest"
	"agenthost/doors/doorstest"
)

// begin posts a request that is answered with events, and returns the first of them. The
// client stays until the test ends.
func begin(t *testing.T, h *doorstest.Host, path, body string) (first map[string]any) {
	t.Helper()
	r, err := http.NewRequestWithContext(bustest.Context(t), http.MethodPost, "http://"+h.HTTP()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			if err := json.Unmarshal([]byte(data), &first); err != nil {
				t.Fatalf("%s: %v", data, err)
			}
			return first
		}
	}
	t.Fatalf("no event: %v", lines.Err())
	return nil
}

// A response is known from when its client has its id, also after a restart, though the
// log has nothing of a run before the first answer of its model.
func TestResponseUnderWay(t *testing.T) {
	t.Parallel()
	cfg := scripted(t, `rules: [{is: more, text: done}, {delay: 1200ms, chunks: [a, b]}]`)
	h := doorstest.Serve(t, cfg)
	response, _ := begin(t, h, "/v1/responses", `{"model": "ana", "stream": true, "input": "x"}`)["response"].(map[string]any)
	id, _ := response["id"].(string)
	got := ask(t, h, "GET", "/v1/responses/"+id, nil, nil)
	if got.Status != 200 || got.get(t, "status") != "in_progress" || got.get(t, "id") != id {
		t.Errorf("got %+v", got)
	}
	if again := ask(t, h, "GET", "/v1/responses/"+id, nil, nil); again.Body != got.Body {
		t.Errorf("got %+v", again)
	}
	h.Stop()
	h = doorstest.Serve(t, cfg)
	next := ask(t, h, "POST", "/v1/responses", object{"model": "ana", "input": "more", "previous_response_id": id}, nil)
	if next.Status != 200 || next.get(t, "output", 0, "content", 0, "text") != "done" {
		t.Errorf("what follows: got %+v", next)
	}
	got = ask(t, h, "GET", "/v1/responses/"+id, nil, nil)
	if got.Status != 200 || got.get(t, "status") != "completed" || got.get(t, "output", 0, "content", 0, "text") != "ab" {
		t.Errorf("at the end: got %+v", got)
	}
}
