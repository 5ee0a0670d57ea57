package a2a_test

import (
	"slices"
	"strings"
	"testing"

	"agenthost/bus/bustest"
	"agenthost/bus/filestore"
	"agenthost/doors/doorstest"
	"agenthost/internal/waittest"

	"github.com/google/go-cmp/cmp"
)

const (
	submitted = "TASK_STATE_SUBMITTED"
	working   = "TASK_STATE_WORKING"
	completed = "TASK_STATE_COMPLETED"
	canceled  = "TASK_STATE_CANCELED"
	failed    = "TASK_STATE_FAILED"
	required  = "TASK_STATE_INPUT_REQUIRED"
)

func TestSend(t *testing.T) {
	t.Parallel()
	h, c := start(t, "")
	got := c.send(said("m1", "hi", "contextId", "c/1"))
	if got.Status.State != completed || got.text() != "ana: hi" || got.ContextID != "c/1" || len(got.History) != 1 || got.History[0].ID != "m1" {
		t.Errorf("got %+v", got)
	}
	if diff := cmp.Diff(got, c.get(got.ID)); diff != "" {
		t.Errorf("GetTask:\n%s", diff)
	}
	if diff := cmp.Diff(got, c.send(said("m1", "hi", "contextId", "c/1"))); diff != "" {
		t.Errorf("again:\n%s", diff)
	}
	if n := h.Inbound(t); n != 1 {
		t.Errorf("%d messages are stored, want 1", n)
	}
	if short := c.send(said("m1", "hi", "contextId", "c/1"), "historyLength", 0); len(short.History) != 0 {
		t.Errorf("got %+v", short.History)
	}
	if code, why := c.call("SendMessage", object{"message": said("m1", "other", "contextId", "c/1")}, nil); code != -32602 || !strings.Contains(why, "another message") {
		t.Errorf("got %d %s", code, why)
	}
	if got := c.send(said("m2", "broken")); got.Status.State != failed || got.Status.Message.Parts[0].Text == "" {
		t.Errorf("got %+v", got)
	}
}

func TestStream(t *testing.T) {
	t.Parallel()
	_, c := start(t, "")
	states, text, first := gathered(c.stream("SendStreamingMessage", object{"message": said("m1", "story")}))
	if diff := cmp.Diff([]string{submitted, working, completed}, states); diff != "" || text != "Once upon a time." {
		t.Errorf("got %q, %s", text, diff)
	}
	if got := c.get(first.ID); got.text() != text || got.Status.State != completed {
		t.Errorf("got %+v", got)
	}
}

// What a task waits for is answered by its next message, also after a restart.
func TestInputRequired(t *testing.T) {
	t.Parallel()
	cfg := doorstest.Config(t, "")
	h := doorstest.Serve(t, cfg)
	c := client{t, "http://" + h.HTTP() + "/a2a/ana", ""}
	question := c.send(said("m1", "colour"))
	if question.Status.State != required || question.Status.Message.Parts[0].Text != "Which colour?\n- Red\n- Blue" {
		t.Fatalf("got %+v", question)
	}
	approval := c.send(said("m2", "write", "contextId", "other"))
	if approval.Status.State != required || !strings.Contains(approval.Status.Message.Parts[0].Text, "note.txt") {
		t.Fatalf("got %+v", approval)
	}
	h.Stop()
	h = doorstest.Serve(t, cfg)
	c.url = "http://" + h.HTTP() + "/a2a/ana"
	if diff := cmp.Diff(question, c.get(question.ID)); diff != "" {
		t.Errorf("after a restart:\n%s", diff)
	}
	if got := c.send(said("m3", "green", "taskId", question.ID)); got.Status.State != required || !strings.Contains(got.Status.Message.Parts[0].Text, "one of") {
		t.Errorf("got %+v", got)
	}
	got := c.send(said("m4", "Blue", "taskId", question.ID))
	if got.Status.State != completed || got.text() != "You like Blue." || got.ID != question.ID {
		t.Errorf("got %+v", got)
	}
	if diff := cmp.Diff(got, c.send(said("m4", "Blue", "taskId", question.ID))); diff != "" {
		t.Errorf("the answer again:\n%s", diff)
	}
	if code, why := c.call("SendMessage", object{"message": said("m5", "Red", "taskId", question.ID)}, nil); code != -32004 {
		t.Errorf("got %d %s", code, why)
	}
	states, text, _ := gathered(c.stream("SendStreamingMessage", object{"message": said("m6", "approve", "taskId", approval.ID)}))
	if last := states[len(states)-1]; last != completed || !strings.HasPrefix(text, "done: ") {
		t.Errorf("got %v, %q", states, text)
	}
}

func TestStreamToAQuestion(t *testing.T) {
	t.Parallel()
	_, c := start(t, "")
	states, _, first := gathered(c.stream("SendStreamingMessage", object{"message": said("m1", "colour")}))
	if last := states[len(states)-1]; last != required {
		t.Errorf("got %v", states)
	}
	next := c.stream("SubscribeToTask", object{"id": first.ID})
	if e, ok := next(); !ok || e.Task == nil || e.Task.Status.State != required {
		t.Errorf("got %+v", e)
	}
}

func TestSubscribeAndCancel(t *testing.T) {
	t.Parallel()
	_, c := start(t, "")
	begun := c.send(said("m1", "endless"), "returnImmediately", true)
	if begun.Status.State != submitted && begun.Status.State != working {
		t.Errorf("got %+v", begun)
	}
	next := c.stream("SubscribeToTask", object{"id": begun.ID})
	if e, ok := next(); !ok || e.Task == nil || e.Task.ID != begun.ID {
		t.Errorf("got %+v", e)
	}
	var got task
	if code, why := c.call("CancelTask", object{"id": begun.ID}, &got); code != 0 || got.Status.State != canceled {
		t.Errorf("got %+v, %d %s", got, code, why)
	}
	if states, _, _ := gathered(next); len(states) == 0 || states[len(states)-1] != canceled {
		t.Errorf("got %v", states)
	}
	if code, _ := c.call("CancelTask", object{"id": begun.ID}, &got); code != -32002 {
		t.Errorf("cancel again: got %d", code)
	}
	if got := c.get(begun.ID); got.Status.State != canceled {
		t.Errorf("got %+v", got)
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	_, c := start(t, "")
	for _, m := range []object{
		said("m1", "one", "contextId", "a/%2F"), said("m2", "two", "contextId", "a/%2F"), said("m3", "colour", "contextId", "b"),
	} {
		c.send(m)
	}
	list := func(params object) (ids []string, next string, size int) {
		t.Helper()
		var got struct {
			Tasks         []task
			TotalSize     int
			NextPageToken string
		}
		if code, why := c.call("ListTasks", params, &got); code != 0 {
			t.Fatal(code, why)
		}
		for _, one := range got.Tasks {
			ids = append(ids, one.History[0].ID)
			if (len(one.Artifacts) > 0) != (params["includeArtifacts"] == true && one.Status.State == completed) {
				t.Errorf("artifacts: %+v", one.Artifacts)
			}
		}
		return ids, got.NextPageToken, got.TotalSize
	}
	for name, tt := range map[string]struct {
		params object
		want   string
	}{
		"all":       {object{"includeArtifacts": true}, "m3 m2 m1"},
		"a context": {object{"contextId": "a/%2F"}, "m2 m1"},
		"a state":   {object{"status": required}, "m3"},
		"none":      {object{"contextId": "nowhere"}, ""},
	} {
		if ids, _, n := list(tt.params); strings.Join(ids, " ") != tt.want || n != len(ids) {
			t.Errorf("%s: got %v of %d, want %s", name, ids, n, tt.want)
		}
	}
	first, token, n := list(object{"pageSize": 2})
	second, end, _ := list(object{"pageSize": 2, "pageToken": token})
	if !slices.Equal(first, []string{"m3", "m2"}) || !slices.Equal(second, []string{"m1"}) || end != "" || n != 3 {
		t.Errorf("got %v, %v, %q of %d", first, second, end, n)
	}
}

// A list has tasks that are under way, in the state that GetTask says, and whose log has nothing of
// them yet.
func TestListUnderWay(t *testing.T) {
	t.Parallel()
	_, c := start(t, "")
	c.send(said("m0", "hi", "contextId", "c"))
	first := c.send(said("m1", "endless", "contextId", "c"), "returnImmediately", true)
	c.send(said("m2", "hi", "contextId", "c"), "returnImmediately", true)
	other := c.send(said("m3", "endless", "contextId", "d"), "returnImmediately", true)
	for _, id := range []string{first.ID, other.ID} {
		bustest.Eventually(t, "a task is at work", func() bool { return c.get(id).Status.State == working })
	}
	for name, tt := range map[string]struct {
		params object
		want   []string
	}{
		"all":       {object{}, []string{"m0 " + completed, "m1 " + working, "m2 " + submitted, "m3 " + working}},
		"a context": {object{"contextId": "c"}, []string{"m0 " + completed, "m1 " + working, "m2 " + submitted}},
		"at work":   {object{"status": working}, []string{"m1 " + working, "m3 " + working}},
		"waiting":   {object{"status": submitted}, []string{"m2 " + submitted}},
	} {
		var page struct {
			Tasks     []task
			TotalSize int
		}
		if code, why := c.call("ListTasks", tt.params, &page); code != 0 {
			t.Fatal(code, why)
		}
		got := []string{}
		for _, one := range page.Tasks {
			got = append(got, one.History[0].ID+" "+one.Status.State)
		}
		slices.Sort(got)
		if diff := cmp.Diff(tt.want, got); diff != "" || page.TotalSize != len(got) {
			t.Errorf("%s: %d\n%s", name, page.TotalSize, diff)
		}
	}
	for _, id := range []string{first.ID, other.ID} {
		if code, why := c.call("CancelTask", object{"id": id}, new(task)); code != 0 {
			t.Errorf("%d %s", code, why)
		}
	}
	if code, why := c.call("ListTasks", object{"status": "bogus"}, nil); code != -32602 || !strings.Contains(why, "bogus") {
		t.Errorf("got %d %s", code, why)
	}
}

// A task is at work from when its model is asked, which no log has yet. One that waits for
// it is not.
func TestWorkingBeforeItsLog(t *testing.T) {
	t.Parallel()
	_, c := start(t, "")
	first := c.send(said("m1", "endless", "contextId", "c"), "returnImmediately", true)
	second := c.send(said("m2", "hi", "contextId", "c"), "returnImmediately", true)
	bustest.Eventually(t, "the first is at work", func() bool { return c.get(first.ID).Status.State == working })
	if got := c.get(second.ID); got.Status.State != submitted {
		t.Errorf("the second: got %+v", got)
	}
	if e, ok := c.stream("SubscribeToTask", object{"id": first.ID})(); !ok || e.Task == nil || e.Task.Status.State != working {
		t.Errorf("SubscribeToTask: got %+v", e)
	}
	var got task
	if code, why := c.call("CancelTask", object{"id": first.ID}, &got); code != 0 || got.Status.State != canceled {
		t.Errorf("got %+v, %d %s", got, code, why)
	}
}

// A task waits for those of its own context alone, whatever contexts are called.
func TestContextsWithADot(t *testing.T) {
	t.Parallel()
	_, c := start(t, "")
	first := c.send(said("m1", "endless", "contextId", "a.b"), "returnImmediately", true)
	other := c.send(said("m2", "endless", "contextId", "a"), "returnImmediately", true)
	bustest.Eventually(t, "the task of the other context is at work", func() bool { return c.get(other.ID).Status.State == working })
	for _, id := range []string{other.ID, first.ID} {
		var got task
		if code, why := c.call("CancelTask", object{"id": id}, &got); code != 0 || got.Status.State != canceled {
			t.Errorf("got %+v, %d %s", got, code, why)
		}
	}
}

// What a client attaches is kept, and what an agent attaches comes as a part.
func TestFiles(t *testing.T) {
	t.Parallel()
	cfg := doorstest.Config(t, "")
	bustest.WriteFile(t, "unused", "")
	write(t, cfg.Models["main"].Script, `rules: [{text: "See:", media: [{mime: text/plain, name: a.txt, base64: aGVsbG8=}]}]`)
	h := doorstest.Serve(t, cfg)
	c := client{t, "http://" + h.HTTP() + "/a2a/ana", ""}
	m := said("m1", "hi")
	m["parts"] = []object{{"text": "hi"}, {"data": object{"a": 1}}, {"raw": "aGk=", "filename": "../b.txt"}, {"url": "https://example.org/x.png", "mediaType": "image/png"}}
	got := c.send(m)
	want := []part{{Text: "See:"}, {Raw: []byte("hello"), Filename: "a.txt", MediaType: "text/plain"}}
	if diff := cmp.Diff(want, got.Artifacts[0].Parts); diff != "" {
		t.Error(diff)
	}
	want = []part{
		{Text: "hi\n\n{\"a\":1}"},
		{Raw: []byte("hi"), Filename: "b.txt", MediaType: "text/plain"},
		{URL: "https://example.org/x.png", Filename: "file", MediaType: "image/png"},
	}
	if diff := cmp.Diff(want, got.History[0].Parts); diff != "" {
		t.Error(diff)
	}
}

// A client names no file of the store: what it sends as an address stays one.
func TestAddressThatLooksLikeAFile(t *testing.T) {
	t.Parallel()
	h, c := start(t, "")
	name, err := filestore.New(h.Client.JetStream()).Put(t.Context(), []byte("of another chat"))
	if err != nil {
		t.Fatal(err)
	}
	m, url := said("m1", "hi"), "agenthost-object:"+name
	m["parts"] = []object{{"text": "hi"}, {"url": url, "mediaType": "text/plain", "metadata": object{"agenthost/object": name}}}
	want := []part{{Text: "hi"}, {URL: url, Filename: "file", MediaType: "text/plain"}}
	if diff := cmp.Diff(want, c.send(m).History[0].Parts); diff != "" {
		t.Error(diff)
	}
}

// A message that orders a context to stop has its end when the task has.
func TestOrderToStopEnds(t *testing.T) {
	t.Parallel()
	h, c := start(t, "")
	begun := c.send(said("m1", "endless", "contextId", "c"), "returnImmediately", true)
	waittest.Until(t, "a run", func() bool {
		list, err := h.Client.Runs(bustest.Context(t))
		return err == nil && len(list.Runs) == 1
	})
	if got := c.send(said("m2", "/stop", "contextId", "c")); got.Status.State != canceled {
		t.Errorf("got %+v", got)
	}
	if got := c.get(begun.ID); got.Status.State != canceled {
		t.Errorf("the task: got %+v", got)
	}
}
