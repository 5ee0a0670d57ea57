package openai_test

import (
	"strings"
	"testing"

	"agenthost/doors/doorstest"

	"github.com/google/go-cmp/cmp"
)

// An answer that the model ended at its longest length says so in the words of the API, also
// when it is asked for again.
func TestAnswerThatIsCut(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, "")
	whole := ask(t, h, "POST", chatPath, chatOf("long"), header{"Idempotency-Key": "k"})
	again := ask(t, h, "POST", chatPath, chatOf("long"), header{"Idempotency-Key": "k"})
	for name, a := range map[string]answer{"at once": whole, "again": again} {
		text, _ := a.content(t).(string)
		if a.get(t, "choices", 0, "finish_reason") != "length" || !strings.HasPrefix(text, "So far\n\n(") {
			t.Errorf("%s: got %+v", name, a)
		}
	}
	streamed := ask(t, h, "POST", chatPath, object{"model": "ana", "stream": true, "messages": []object{says("user", "long")}}, nil).events()
	if last := streamed[len(streamed)-1]; last["choices"].([]any)[0].(object)["finish_reason"] != "length" {
		t.Errorf("streamed: got %v", last)
	}

	a := ask(t, h, "POST", "/v1/responses", object{"model": "ana", "input": "long"}, nil)
	wantIncomplete(t, a.get(t))
	id, _ := a.get(t, "id").(string)
	wantIncomplete(t, ask(t, h, "GET", "/v1/responses/"+id, nil, nil).get(t))
	events := ask(t, h, "POST", "/v1/responses", object{"model": "ana", "input": "long", "stream": true}, nil).events()
	if last := events[len(events)-1]; last["type"] != "response.incomplete" {
		t.Errorf("streamed: got %v", last)
	} else {
		wantIncomplete(t, last["response"])
	}
	if done := events[len(events)-2]; done["type"] != "response.output_item.done" || done["item"].(object)["status"] != "incomplete" {
		t.Errorf("streamed: got %v", done)
	}
}

// A response is not made in the background, and what it was is not streamed again.
func TestBackgroundResponse(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, "")
	for _, stream := range []bool{false, true} {
		if a := ask(t, h, "POST", "/v1/responses", object{"model": "ana", "input": "x", "background": true, "stream": stream}, nil); a.Status != 400 || a.get(t, "error", "param") != "background" {
			t.Errorf("stream %t: got %d %s", stream, a.Status, a.Body)
		}
	}
	a := ask(t, h, "POST", "/v1/responses", object{"model": "ana", "input": "x", "background": false}, nil)
	id, _ := a.get(t, "id").(string)
	for query, want := range map[string]int{"": 200, "?stream=false": 200, "?stream=true": 400, "?stream=true&starting_after=3": 400, "?stream=yes": 400} {
		got := ask(t, h, "GET", "/v1/responses/"+id+query, nil, nil)
		if got.Status != want || want == 400 && got.get(t, "error", "param") != "stream" {
			t.Errorf("%q: got %d %s", query, got.Status, got.Body)
		}
	}
}

// wantIncomplete checks a response that reached its longest length.
func wantIncomplete(t *testing.T, v any) {
	t.Helper()
	r, _ := v.(map[string]any)
	got := object{"status": r["status"], "why": r["incomplete_details"], "error": r["error"]}
	if diff := cmp.Diff(object{"status": "incomplete", "why": object{"reason": "max_output_tokens"}, "error": nil}, got); diff != "" {
		t.Errorf("response (-want +got):\n%s", diff)
	}
	output, _ := r["output"].([]any)
	if len(output) != 1 || output[0].(object)["status"] != "incomplete" || r["usage"] == nil {
		t.Errorf("got %v", r)
	}
}
