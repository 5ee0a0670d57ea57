//go:build long

package main

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/client"
	"agenthost/internal/cli"
	"agenthost/session"
)

// Of accounts that are one session one is erased, and the session goes on with the other.
func TestEraseOneOfSharedAccounts(t *testing.T) {
	t.Parallel()
	w := newErasedWorld(t)
	startHostIn(t, w.dir, nil).until(t, "ready")
	first := func(text string) bus.Outbound {
		return w.says("web", bus.Inbound{From: zedMain, Text: text})
	}
	second := func(text string) bus.Outbound {
		return w.says("telegram.sales", bus.Inbound{From: zedID, Text: text})
	}
	first("please remember tea is fine")
	second("please remember opal")
	second("please remind me of opal")
	if out := second("please write opal"); out.Kind != bus.KindApproval {
		t.Fatalf("got %+v", out)
	}
	key := "web/dm/" + zedMain
	if notes, _ := call(t, cli.CodeDone, "", "memory", "ls", "--peer", key, "-s", w.url); !strings.Contains(notes, "opal") {
		t.Fatalf("the notes of the chat are %s", notes)
	}
	out, _ := call(t, cli.CodeDone, "", "erase", "--peer", "telegram.sales/"+zedID, "--force", "--json", "-s", w.url)
	done := client.Erased{}
	if err := json.Unmarshal([]byte(out), &done); err != nil {
		t.Fatal(err)
	}
	t.Logf("removed %v, kept %q", done.Counts, done.Kept)
	for _, place := range w.find(zedID) {
		t.Errorf("it is still there: %s", place)
	}
	for _, place := range w.find("opal") { // what the agent has said and done in the session is named
		if !strings.HasPrefix(place, bus.SessionsStream) {
			t.Errorf("it is still there: %s", place)
		}
	}
	if len(done.Kept) != 1 || !strings.Contains(done.Kept[0], key) || !strings.Contains(done.Kept[0], "a note of that chat") {
		t.Errorf("kept: %q", done.Kept)
	}
	if len(w.find("tea is fine")) == 0 {
		t.Error("what the other account has said is gone")
	}
	bustest.Eventually(t, "no run is at work", func() bool {
		runs, err := w.c.Runs(t.Context())
		return err == nil && len(runs.Runs) == 0
	})
	if out := first("and now?"); out.Text != "You said: and now?" {
		t.Errorf("got %+v", out)
	}
	prompt := w.model.lastPrompt()
	contains(t, prompt, "tea is fine")
	contains(t, prompt, "[erased]")
	if again, _ := call(t, cli.CodeDone, "", "erase", "--peer", "telegram.sales/"+zedID, "--force", "-s", w.url); again != "nothing is kept of telegram.sales/"+zedID+"\n" {
		t.Errorf("a second time: got %q", again)
	}
}

// An approver who answers in a chat that accounts share is not named by what they have answered.
func TestEraseAnApproverWithTwoAccounts(t *testing.T) {
	t.Parallel()
	w := newErasedWorld(t)
	startHostIn(t, w.dir, nil).until(t, "ready")
	if asks := w.says("dots", bus.Inbound{From: "bo-7", Text: "please write gravel"}); asks.Kind != bus.KindApproval {
		t.Fatalf("got %+v", asks)
	}
	if told := w.says("dots", bus.Inbound{From: zedID, Text: "deny"}); told.Kind == bus.KindError {
		t.Fatalf("the approver is told %+v", told)
	}
	asker := "agent.session.dot." + session.SID("dot", "dots/dm/bo-7")
	bustest.Eventually(t, "the session that has asked has the answer", func() bool {
		return slices.ContainsFunc(w.find("dots/dm/"+zedID+":"), func(place string) bool { return strings.Contains(place, asker) })
	})
	call(t, cli.CodeDone, "", "erase", "--peer", "dots/"+zedID, "--force", "-s", w.url)
	for _, place := range w.find(zedID) {
		t.Errorf("it is still there: %s", place)
	}
	if len(w.find("bo-7")) == 0 {
		t.Error("what the other person has said is gone")
	}
}

// asks has a client ask ana by the responses API, and returns the id of what comes of it.
func (w *erasedWorld) asks(address, body string) string {
	w.Helper()
	req, err := http.NewRequestWithContext(w.Context(), http.MethodPost, "http://"+address+"/v1/responses", strings.NewReader(body))
	if err != nil {
		w.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer sesame-sesame-sesame")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		w.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	answer := struct{ ID string }{}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || resp.StatusCode != http.StatusOK || answer.ID == "" {
		w.Fatalf("%s: %s, %+v, %v", body, resp.Status, answer, err)
	}
	return answer.ID
}

// A conversation by the OpenAI door that one person has begun, with what was said before, and
// another has gone on with: what the one has said goes, and the other goes on.
func TestEraseOneOfSeveralAtADoor(t *testing.T) {
	t.Parallel()
	w := newErasedWorld(t)
	_, ready := startHostIn(t, w.dir, nil).until(t, "ready")
	address := ready["http"].(string)
	id := w.asks(address, `{"model":"ana","user":"`+zedID+`","input":[{"role":"user","content":"my opal"},{"role":"assistant","content":"I see."},{"role":"user","content":"please remember topaz"}]}`)
	next := w.asks(address, `{"model":"ana","user":"bo-7","previous_response_id":"`+id+`","input":"and gravel?"}`)
	requests := w.count("KV_" + bus.RequestsBucket)
	if len(w.find("opal")) == 0 || len(w.find("topaz")) == 0 || requests == 0 {
		t.Fatal("the test has nothing to erase")
	}
	out, _ := call(t, cli.CodeDone, "", "erase", "--peer", "openai/"+zedID, "--force", "--json", "-s", w.url)
	done := client.Erased{}
	if err := json.Unmarshal([]byte(out), &done); err != nil {
		t.Fatal(err)
	}
	t.Logf("removed %v, kept %q", done.Counts, done.Kept)
	for _, place := range w.find(zedID, "opal") {
		t.Errorf("it is still there: %s", place)
	}
	for _, place := range w.find("topaz") {
		if !strings.HasPrefix(place, bus.SessionsStream) {
			t.Errorf("it is still there: %s", place)
		}
	}
	if done.Counts["requests"] == 0 || w.count("KV_"+bus.RequestsBucket) == 0 {
		t.Errorf("of %d requests %d are left; removed %v", requests, w.count("KV_"+bus.RequestsBucket), done.Counts)
	}
	if len(done.Kept) != 1 || !strings.Contains(done.Kept[0], "openai/dm/") {
		t.Errorf("kept: %q", done.Kept)
	}
	w.asks(address, `{"model":"ana","user":"bo-7","previous_response_id":"`+next+`","input":"and now?"}`)
	prompt := w.model.lastPrompt()
	contains(t, prompt, "and gravel?")
	contains(t, prompt, "[erased]")
	if strings.Contains(prompt, "opal") {
		t.Errorf("the model is sent %s", prompt)
	}
}
