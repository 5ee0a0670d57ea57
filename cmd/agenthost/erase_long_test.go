//go:build long

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"agenthost/bus/streams"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/client"
	"agenthost/internal/cli"
	"agenthost/session"
)

// A person is erased from a fleet of two hosts, one of which is then killed.
func TestErase(t *testing.T) {
	t.Parallel()
	w := newErasedWorld(t)
	red := startHostIn(t, w.dir, nil, "--name", "red")
	_, ready := red.until(t, "ready")
	w.fill(ready["http"].(string))
	blue := startHostIn(t, w.dir, []string{"AGENTHOST_DATA=blue"}, "--name", "blue")
	blue.until(t, "ready")
	streams := map[string]bool{}
	for _, place := range w.find(zoeID, zoeName, zoeWords) {
		stream, _, _ := strings.Cut(place, ":")
		streams[stream] = true
	}
	for _, stream := range []string{
		bus.InboundStream, bus.OutboundStream, bus.RoutesStream, bus.SchedulesStream, bus.SessionsStream, bus.DeadStream,
		"KV_AGENT_MEMORY", "KV_AGENT_PAIRINGS", "KV_AGENT_SCHEDULES", "KV_AGENT_WAITING", "OBJ_AGENT_FILES",
	} {
		if !streams[stream] {
			t.Errorf("the test has nothing of her in %s", stream)
		}
	}

	out, errs := call(t, cli.CodeDone, "", "erase", "--peer", zoeID, "--dry-run", "--json", "-s", w.url)
	contains(t, errs, zoeID+" is found as openai/"+zoeID+", parts/"+zoeID+", shut/"+zoeID+", telegram.sales/"+zoeID+", web/"+zoeID)
	look := client.Erased{}
	if err := json.Unmarshal([]byte(out), &look); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"sessions", "group_sessions", "notes", "files", "dead_letters", "inbound", "outbound", "routes", "schedules", "approvals", "pairings", "requests"} {
		if look.Counts[kind] == 0 {
			t.Errorf("--dry-run lists no %s: %v", kind, look.Counts)
		}
	}
	if len(w.find(zoeWords)) == 0 {
		t.Fatal("--dry-run has erased")
	}
	_, errs = call(t, cli.CodeUsage, "", "erase", "--peer", zoeID, "-s", w.url)
	contains(t, errs, "use --force")
	before := w.find("gravel")

	out, _ = call(t, cli.CodeDone, "", "erase", "--peer", zoeID, "--force", "--json", "-s", w.url)
	done := client.Erased{}
	if err := json.Unmarshal([]byte(out), &done); err != nil {
		t.Fatal(err)
	}
	t.Logf("removed %v", done.Counts)
	for kind, n := range look.Counts {
		if done.Counts[kind] < n && kind != "files" && kind != "inbound" {
			t.Errorf("%s: removed %d, --dry-run said %d", kind, done.Counts[kind], n)
		}
	}
	w.nothingOfZoe()
	if after := w.find("gravel"); len(after) < len(before)-4 || len(after) == 0 { // some of his were about her
		t.Errorf("%d things of Bo are left of %d", len(after), len(before))
	}
	list, _ := call(t, cli.CodeDone, "", "schedules", "ls", "-s", w.url)
	contains(t, list, "gravel: [erased]") // his reminder stays
	if out, _ := call(t, cli.CodeDone, "", "erase", "--peer", zoeID, "--force", "-s", w.url); out != "nothing is kept of "+zoeID+"\n" {
		t.Errorf("a second time: got %q", out)
	}
	_, note := call(t, cli.CodeDone, "", "erase", "--peer", zoeID, "--agent", "anna", "--force", "-s", w.url)
	if !strings.Contains(note, `note: no agent "anna"`) { // of which nothing is kept, as it is misspelt
		t.Errorf("erase with an unknown agent says %q", note)
	}

	// Bo's chats go on, by the host that had the group in memory and by the other.
	for _, killed := range []bool{false, true} {
		if killed {
			if err := red.cmd.Process.Signal(syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
		w.group("bo-7", "Bo Gravel", "what was said?")
		prompt := w.model.lastPrompt()
		for _, gone := range []string{zoeID, zoeName, zoeWords} {
			if strings.Contains(prompt, gone) {
				t.Errorf("the model is sent %q: %s", gone, prompt)
			}
		}
		contains(t, prompt, "[erased]")
		contains(t, prompt, "gravel is fine")
		contains(t, prompt, "did she?")
		if out := w.says("web", bus.Inbound{From: "bo-7", Name: "Bo Gravel", Text: "and mine?"}); out.Text != "You said: and mine?" {
			t.Errorf("got %q", out.Text)
		}
		contains(t, w.model.lastPrompt(), "gravel in private")
	}
	w.nothingOfZoe()
	w.readable()

	// She may come back, and starts over.
	w.zoe("web", "I am new here")
	if prompt := w.model.lastPrompt(); strings.Contains(prompt, "hello") {
		t.Errorf("she is known again: %s", prompt)
	}
}

// The command is killed again and again, and in the end all is erased.
func TestEraseIsKilled(t *testing.T) {
	t.Parallel()
	w := newErasedWorld(t)
	h := startHostIn(t, w.dir, nil, "--name", "red")
	_, ready := h.until(t, "ready")
	w.fill(ready["http"].(string))
	h.kill() // it works without a host
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	first := w.messages(bus.SessionsStream) + w.messages(bus.OutboundStream) + w.messages(bus.InboundStream)
	for n := range uint64(6) { // each time it is let go a little further
		cmd := exec.CommandContext(t.Context(), self, "erase", "--peer", zoeID, "--force", "-s", w.url)
		cmd.Args[0] = "agenthost"
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		bustest.Eventually(t, "the command has come some way", func() bool {
			if len(ended) > 0 {
				return true
			}
			return w.messages(bus.SessionsStream)+w.messages(bus.OutboundStream)+w.messages(bus.InboundStream) < first-n*4
		})
		_ = cmd.Process.Kill()
		<-ended
		if _, _, err := session.NewArchive(w.js).State(context.WithoutCancel(t.Context()), "ana", session.SID("ana", "web/group/-100")); err != nil {
			t.Errorf("the group cannot be read after a kill: %v", err)
		}
	}
	call(t, cli.CodeDone, "", "erase", "--peer", zoeID, "--force", "-s", w.url)
	w.nothingOfZoe()
	startHostIn(t, w.dir, nil, "--name", "red").until(t, "ready")
	w.group("bo-7", "Bo Gravel", "what was said?")
	contains(t, w.model.lastPrompt(), "gravel is fine")
	w.nothingOfZoe()
	w.readable()
}

// Another person of the same name on another channel, and what another agent has, stay.
func TestEraseOnOneChannel(t *testing.T) {
	t.Parallel()
	w := newErasedWorld(t)
	h := startHostIn(t, w.dir, nil, "--name", "red")
	h.until(t, "ready")
	w.says("web", bus.Inbound{From: "42", Text: "on the web: applepie"})
	w.says("telegram.sales", bus.Inbound{From: "42", Text: "on telegram: plumpie"})
	w.says("parts", bus.Inbound{From: "42", Text: "to bob: figpie"})
	call(t, cli.CodeDone, "", "erase", "--peer", "web/42", "--force", "-s", w.url)
	if places := w.find("applepie"); len(places) > 0 {
		t.Errorf("still there: %q", places)
	}
	if len(w.find("plumpie")) == 0 || len(w.find("figpie")) == 0 {
		t.Error("more was erased than was asked for")
	}
	call(t, cli.CodeDone, "", "erase", "--peer", "42", "--agent", "bob", "--force", "-s", w.url)
	if len(w.find("plumpie")) == 0 {
		t.Error("more was erased than one agent has")
	}
	if slices.ContainsFunc(w.find("figpie"), func(place string) bool { return !strings.HasPrefix(place, bus.InboundStream) }) {
		t.Errorf("still there: %q", w.find("figpie"))
	}
}

// What a person writes meanwhile is erased too, and a run that does not end is stopped.
func TestEraseWhileTheyWrite(t *testing.T) {
	t.Parallel()
	w := newErasedWorld(t)
	startHostIn(t, w.dir, nil, "--name", "red").until(t, "ready")
	w.group("bo-7", "Bo Gravel", "gravel is fine")
	sends := func(n int, m bus.Inbound) {
		m.ID, m.From, m.Name = fmt.Sprint("z", n), zoeID, zoeName
		data, _ := json.Marshal(m)
		if _, err := w.js.Publish(t.Context(), bus.InboundPrefix+"web", data); err != nil {
			t.Error(err)
		}
	}
	sends(0, bus.Inbound{Text: "please remember " + zoeWords + " and then hang"})
	bustest.Eventually(t, "the model is asked again", func() bool { return w.model.hangs() == 1 })
	for n := range 5 { // they wait for their turn in the memory of the host
		sends(n+1, bus.Inbound{Text: "more " + zoeWords})
	}
	var writing sync.WaitGroup
	writing.Go(func() {
		for n := range 30 {
			sends(n+10, bus.Inbound{Text: "still writing " + zoeWords, Chat: "-100", Group: n%2 == 0})
		}
	})
	call(t, cli.CodeDone, "", "erase", "--peer", "web/"+zoeID, "--force", "-s", w.url)
	w.stoppedBy(cli.Operator())
	writing.Wait()
	call(t, cli.CodeDone, "", "erase", "--peer", "web/"+zoeID, "--force", "-s", w.url)
	w.nothingOfZoe()
	w.group("bo-7", "Bo Gravel", "and now?")
	contains(t, w.model.lastPrompt(), "gravel is fine")
	w.nothingOfZoe()
}

// The page on privacy shows commands that work, and what they print.
func TestPrivacyPage(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../docs/privacy.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	for _, name := range append(streams.Names(), append(streams.BucketNames(), bus.FilesBucket)...) {
		if !strings.Contains(page, "\n| `"+name+"`") && !strings.Contains(page, "\n| bucket `"+name+"`") {
			t.Errorf("the page does not say what of a person is in %s", name)
		}
	}
	w := newErasedWorld(t)
	config := fmt.Sprintf("nats: {url: %q}\nhttp: {listen: ''}\nmodels: {main: {provider: echo}}\nagents: [{id: assistant, channels: [{channel: telegram, instance: sales}]}]\n", w.url)
	startHostIn(t, configured(t, config), nil, "--name", "red").until(t, "ready")
	w.says("telegram.sales", bus.Inbound{From: "42", Text: "hello"})
	w.says("telegram.sales", bus.Inbound{From: "42", Text: "hello all", Chat: "-100", Group: true})
	w.says("telegram.sales", bus.Inbound{From: "43", Text: "good morning", Chat: "-100", Group: true})
	run := 0
	_, rest, _ := strings.Cut(page, "```\n$ agenthost ")
	shown, _, _ := strings.Cut(rest, "```")
	line, want, _ := strings.Cut(shown, "\n")
	if out, _ := call(t, cli.CodeDone, "", append(strings.Fields(line), "-s", w.url)...); strings.Join(strings.Fields(out), " ") != strings.Join(strings.Fields(want), " ") {
		t.Errorf("agenthost %s: got\n%s, the page shows\n%s", line, out, want)
	}
	_, rest, _ = strings.Cut(page, "```sh\n")
	block, _, _ := strings.Cut(rest, "```")
	for line := range strings.Lines(block) {
		if args, ok := strings.CutPrefix(strings.TrimSpace(line), "agenthost "); ok {
			run++
			call(t, cli.CodeDone, "", append(strings.Fields(args), "-s", w.url)...)
		}
	}
	if run != 3 {
		t.Errorf("ran %d commands of the page", run)
	}
}

// What waits behind a question that is open goes with it: no run begins it, and no file is left
// of it.
func TestEraseWhatWaitsBehindAQuestion(t *testing.T) {
	t.Parallel()
	w := newErasedWorld(t)
	startHostIn(t, w.dir, nil).until(t, "ready")
	if out := w.says("web", bus.Inbound{From: zoeID, Text: "please write a note"}); out.Kind != bus.KindApproval {
		t.Fatalf("got %+v", out)
	}
	for i, text := range []string{"zebra", "please remember zebra", strings.Repeat("zebra ", 150_000)} {
		data, _ := json.Marshal(bus.Inbound{ID: fmt.Sprint("behind", i), From: zoeID, Text: text})
		if _, err := w.js.Publish(t.Context(), bus.InboundPrefix+"web", data); err != nil {
			t.Fatal(err)
		}
	}
	var objects int
	bustest.Eventually(t, "all of it waits in the log, the large one in a file", func() bool {
		out, _ := call(t, cli.CodeDone, "", "sessions", "show", "ana", "web/dm/"+zoeID, "--json", "-s", w.url)
		objects = w.count("OBJ_" + bus.FilesBucket)
		return strings.Contains(out, "behind2") && objects > 0
	})
	asked := w.model.asked()
	call(t, cli.CodeDone, "", "erase", "--peer", "web/"+zoeID, "--force", "-s", w.url)
	if left := w.find("zebra", zoeID); len(left) > 0 {
		t.Errorf("it is still there: %q", left)
	}
	if n := w.model.asked(); n != asked {
		t.Errorf("the model was asked %d times for what waited", n-asked)
	}
	if n := w.count("OBJ_" + bus.FilesBucket); n > 0 {
		t.Errorf("%d messages are left of files, which were %d", n, objects)
	}
	if out := w.says("web", bus.Inbound{From: zoeID, Text: "hello again"}); out.Text != "You said: hello again" {
		t.Errorf("got %+v", out)
	}
}

// count is how many messages a stream holds.
func (w *erasedWorld) count(stream string) int {
	w.Helper()
	s, err := w.js.Stream(w.Context(), stream)
	if err != nil {
		w.Fatal(err)
	}
	return int(s.CachedInfo().State.Msgs)
}

// What a host has of them in memory alone does not come back: runs whose inputs no log has yet,
// with what waits behind them, and what other people have written goes on.
func TestEraseWhatOnlyAHostHas(t *testing.T) {
	t.Parallel()
	w := newErasedWorld(t)
	w.model.release = make(chan struct{})
	startHostIn(t, w.dir, nil).until(t, "ready")
	w.zoe("telegram.sales", "hello")
	waiting := "please wait with the " + zoeWords
	sends := func(place string, m bus.Inbound) {
		data, _ := json.Marshal(m)
		if _, err := w.js.Publish(t.Context(), bus.InboundPrefix+place, data); err != nil {
			t.Fatal(err)
		}
	}
	for _, place := range []string{"web", "telegram.sales", "parts", "collected"} {
		sends(place, bus.Inbound{From: zoeID, Name: zoeName, Text: waiting})
	}
	sends("web", bus.Inbound{From: zoeID, Name: zoeName, Chat: "-100", Group: true, Text: waiting})
	if _, err := w.c.Conversation("bob", client.Party{From: zoeID}).Send(t.Context(), client.NewMessage(waiting)); err != nil {
		t.Fatal(err)
	}
	bustest.Eventually(t, "the model is asked by all", func() bool { return w.model.hangs() == 6 })
	sends("web", bus.Inbound{From: zoeID, Name: zoeName, Text: "and more " + zoeWords})
	sends("parts", bus.Inbound{From: zoeID, Name: zoeName, Text: "and more " + zoeWords})
	sends("web", bus.Inbound{From: zoeID, Name: zoeName, Chat: "-100", Group: true, Text: "and more " + zoeWords})
	answered, err := w.js.Conn().SubscribeSync(bus.OutboundPrefix + ">")
	if err != nil {
		t.Fatal(err)
	}
	sends("web", bus.Inbound{From: "bo-7", Name: "Bo Gravel", Chat: "-100", Group: true, Text: "gravel is fine"})

	call(t, cli.CodeDone, "", "erase", "--peer", zoeID, "--force", "-s", w.url)
	w.nothingOfZoe()
	close(w.model.release)
	reply := bus.Outbound{}
	within, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if msg, err := answered.NextMsgWithContext(within); err != nil || json.Unmarshal(msg.Data, &reply) != nil || reply.Text != "You said: Bo Gravel: gravel is fine" {
		t.Errorf("the other person in the group: got %+v, %v", reply, err)
	}
	bustest.Eventually(t, "no run is at work", func() bool {
		runs, err := w.c.Runs(t.Context())
		return err == nil && len(runs.Runs) == 0
	})
	w.nothingOfZoe()
	if n, _, _ := answered.Pending(); n > 0 {
		t.Errorf("%d replies went out besides", n)
	}
	if out := w.zoe("web", "hello again"); out.Text != "You said: hello again "+zoeWords {
		t.Errorf("what they write afterwards: got %+v", out)
	}
}

// What another person has said in the same words is not hers, and what she has said in a group is
// found also where it is short and has her id in it.
func TestEraseTellsPeopleApart(t *testing.T) {
	t.Parallel()
	w := newErasedWorld(t)
	startHostIn(t, w.dir, nil).until(t, "ready")
	const same = "please book the table for tonight"
	w.says("web", bus.Inbound{From: zoeID, Text: "hello. " + same})
	w.says("web", bus.Inbound{From: zoeID, Text: same})
	w.says("web", bus.Inbound{From: "bo-7", Text: same})
	w.says("telegram.sales", bus.Inbound{From: zoeID, Text: same})
	w.group(zoeID, "", zoeID+" ZEBRA")
	w.group(zoeID, "", "my ZEBRA")
	before := w.find("bo-7")
	call(t, cli.CodeDone, "", "erase", "--peer", "web/"+zoeID, "--force", "-s", w.url)
	if left := w.find("ZEBRA", "web/dm/"+zoeID); len(left) > 0 {
		t.Errorf("it is still there: %q", left)
	}
	if after := w.find("bo-7"); len(after) != len(before) {
		t.Errorf("of the other person there were %q, and are %q", before, after)
	}
	for _, place := range []string{"web/dm/bo-7", "telegram.sales/dm/" + zoeID} {
		out, _ := call(t, cli.CodeDone, "", "sessions", "export", "ana", place, "-s", w.url)
		if strings.Contains(out, "[erased]") || !strings.Contains(out, same) {
			t.Errorf("%s has %s", place, out)
		}
	}
}
