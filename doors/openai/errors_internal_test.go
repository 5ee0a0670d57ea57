package openai

import (
	"net/http/httptest"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/llm"
)

// Clients tell by the status what they may do; the code says what it was.
func TestStatusOfAFailedRun(t *testing.T) {
	for code, want := range map[llm.Code]int{
		llm.CodeValidation: 400, llm.CodeContentFilter: 400, llm.CodeRateLimited: 429, llm.CodeProviderRateLimit: 429, llm.CodeBudgetExceeded: 429,
		llm.CodeProviderAuth: 502, llm.CodeProviderUnavailable: 502, llm.CodeRunTimeout: 504, llm.CodeInternal: 500,
		llm.CodeToolDenied: 403, llm.CodeCancelled: 409, llm.CodeTurnLimit: 500, llm.CodeToolFailed: 500,
	} {
		w := httptest.NewRecorder()
		writeError(w, failed(&bus.Error{Code: string(code), Message: "m"}))
		if w.Code != want || w.Header().Get("X-Should-Retry") != "false" {
			t.Errorf("%s: got %d %v", code, w.Code, w.Header())
		}
	}
}

// A repeat without a key is the same request while it runs, and for a minute.
func TestRepeatable(t *testing.T) {
	ended := time.Now()
	for after, want := range map[time.Duration]bool{0: true, 59 * time.Second: true, 60 * time.Second: false, 61 * time.Second: false} {
		if got := (trail{outcome: &outcome{at: ended}}).repeatable(ended.Add(after)); got != want {
			t.Errorf("%s after its end: got %v, want %v", after, got, want)
		}
	}
	if !(trail{}).repeatable(ended) {
		t.Error("it is new while the first runs")
	}
}

// An id of a response is taken apart as it was made, and anything else is refused.
func TestIDs(t *testing.T) {
	rec := record{Agent: "ana", Conversation: "a\x00b ä", ID: "k\n", Since: 7}
	rec.At = rec.At.AddDate(2026, 0, 0)
	if got, ok := recordOf(rec.responseID()); !ok || got.Conversation != rec.Conversation || got.ID != rec.ID || got.Since != 7 || !got.At.Equal(rec.At) {
		t.Errorf("got %+v, %v", got, ok)
	}
	if got, ok := callOf(callID("ana", "c", "w"), "ana"); !ok || got.conversation != "c" || got.wait != "w" {
		t.Errorf("got %+v, %v", got, ok)
	}
	for _, id := range []string{"", "resp_", "call_", "resp_e30", "call_W10", "call_7", "call_WyJhIiwiYiIsImMiXQ=="} {
		if _, ok := recordOf(id); ok {
			t.Errorf("%q is a response", id)
		}
		if _, ok := callOf(id, "ana"); ok {
			t.Errorf("%q is a call", id)
		}
	}
}
