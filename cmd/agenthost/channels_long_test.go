//go:build long

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agenthost/bus/bustest"
	"agenthost/client"
	"agenthost/internal/freeport"
)

// What was taken is answered although the host is killed around the callback, and
// the program of an exec plugin gets what it had not delivered.
func TestChannelsOutliveTheHost(t *testing.T) {
	t.Parallel()
	dir, address, back := t.TempDir(), freeport.Address(t), newReceiver(t)
	// The program says delivered from its second run on.
	script := `echo run >>runs
while IFS= read -r line; do
  case $line in
  *'"type":"hello"'*) echo '{"type":"inbound","message":{"id":"hi","from":"bo","text":"from the program"}}' ;;
  *'"type":"outbound"'*)
    echo "$line" >>got
    id=${line#*'"message":{"id":"'}
    id=${id%%'"'*}
    [ "$(wc -l <runs)" -lt 2 ] || echo '{"type":"delivered","id":"'"$id"'"}' ;;
  esac
done`
	writeFile(t, filepath.Join(dir, "bot.sh"), script)
	writeFile(t, filepath.Join(dir, "agenthost.yaml"), fmt.Sprintf(`
http: {listen: %q}
nats: {embedded: {listen: %q}}
models: {main: {provider: echo}}
agents: [{id: ana, channels: [mybot, {channel: webhook, instance: shop}]}]
plugins:
  webhook: {shop: {secret: s3cret, scheme: token, reply: callback, callback: %q}}
  exec: {mybot: {command: [sh, bot.sh]}}
`, address, freeport.Address(t), back.URL))
	url := "http://" + address + "/hooks/shop"
	var first *started
	back.answer = func(n int) int {
		if n == 2 { // in the middle of the second callback
			_ = first.cmd.Process.Kill()
		}
		return http.StatusOK
	}
	first = startHostIn(t, dir, nil)
	bustest.Eventually(t, "the first is taken", func() bool { code, _ := postHook(t, url, "m1", "one"); return code == http.StatusAccepted })
	bustest.Eventually(t, "its reply", func() bool { return back.has("one") })
	if _, words := postHook(t, url, "m1", "another"); !strings.Contains(words, "another body") {
		t.Errorf("another body: got %s", words)
	}
	got := filepath.Join(dir, "got")
	bustest.Eventually(t, "the program has the reply", func() bool { data, err := os.ReadFile(got); return err == nil && len(data) > 0 })
	if code, words := postHook(t, url, "m2", "two"); code != http.StatusAccepted && code != 0 {
		t.Errorf("got %d %s", code, words)
	}
	bustest.Eventually(t, "the callback in which the host dies", func() bool { return back.has("two") })
	_ = first.cmd.Wait()

	back.mu.Lock()
	back.answer = nil
	back.mu.Unlock()
	startHostIn(t, dir, nil)
	bustest.Eventually(t, "the third is taken", func() bool { code, _ := postHook(t, url, "m3", "three"); return code == http.StatusAccepted })
	bustest.Eventually(t, "its reply", func() bool { return back.has("three") })
	if code, answer := postHook(t, url, "m1", "one"); code != http.StatusAccepted {
		t.Errorf("the first again: got %d %s", code, answer)
	}
	if n := back.most(); n > 2 {
		t.Errorf("a reply was posted %d times, want at most 2", n)
	}
	bustest.Eventually(t, "the program has the reply again", func() bool {
		data, err := os.ReadFile(got)
		return err == nil && strings.Count(string(data), "from the program") >= 2
	})
	var list []client.ChannelAccount
	bustest.Eventually(t, "nothing waits", func() bool {
		cmd := exec.Command(os.Args[0], "channels", "--json")
		cmd.Args[0], cmd.Dir = "agenthost", dir
		out, err := cmd.Output()
		return err == nil && json.Unmarshal(out, &list) == nil && len(list) == 2 && list[0].Waiting+list[1].Waiting == 0
	})
	if list[0].Name() != "mybot" || list[1].Name() != "webhook.shop" || list[1].State != "connected" || list[1].Owner == "" {
		t.Errorf("channels: %+v", list)
	}
}

// The chat page and the accounts of every channel come, change and go by a reload.
func TestReloadOfEveryPlugin(t *testing.T) {
	t.Parallel()
	dir, address, nats := t.TempDir(), freeport.Address(t), freeport.Address(t)
	opened := map[string]platform{}
	var all, bindings []string
	for name, open := range platforms {
		opened[name] = open(t)
		all = append(all, fmt.Sprintf("%s: {one: %s}", name, opened[name].settings))
		bindings = append(bindings, fmt.Sprintf("{channel: %s, instance: one}", name))
	}
	write := func(plugins ...string) {
		writeFile(t, filepath.Join(dir, "agenthost.yaml"), fmt.Sprintf(
			"http: {listen: %q}\nnats: {embedded: {listen: %q}}\nmodels: {main: {provider: echo}}\nagents: [{id: ana, channels: [web, %s]}]\nplugins: {%s}\n",
			address, nats, strings.Join(bindings, ", "), strings.Join(plugins, ", ")))
	}
	run := func(command ...string) string {
		t.Helper()
		cmd := exec.Command(os.Args[0], command...)
		cmd.Args[0], cmd.Dir = "agenthost", dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v: %s", command, err, out)
		}
		return string(out)
	}
	// reload has the file taken over, by the command or because the file has changed.
	reload := func() {
		t.Helper()
		if out := run("reload"); strings.Contains(out, "restart") {
			t.Errorf("reload: %s", out)
		}
	}
	chat := func(path string) int {
		resp, err := http.Get("http://" + address + path)
		if err != nil {
			return 0
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	states := func() map[string]string {
		var list []client.ChannelAccount
		if err := json.Unmarshal([]byte(run("channels", "--json")), &list); err != nil {
			t.Fatal(err)
		}
		states := map[string]string{}
		for _, a := range list {
			states[a.Channel] = a.State
		}
		return states
	}
	write()
	startHostIn(t, dir, nil).until(t, "ready")
	if code := chat("/chat"); code != http.StatusNotFound {
		t.Errorf("no page: got %d", code)
	}
	write(append(all, "web: {max_file: 1KB}")...)
	reload()
	bustest.Eventually(t, "the page", func() bool { return chat("/chat") == http.StatusOK })
	bustest.Eventually(t, "every account is connected", func() bool {
		now := states()
		return !slices.ContainsFunc(slices.Collect(maps.Keys(platforms)), func(name string) bool { return now[name] != "connected" })
	})
	for since, want := range map[string]string{"2d": "connected", "2999-01-01": "no accounts of channels; the chat page needs none"} {
		contains(t, run("channels", "--since", since), want)
	}
	for name, p := range opened {
		p.write("m01")
		bustest.Eventually(t, "a reply on "+name, func() bool { return slices.Contains(p.numbers(), "m01") })
	}
	write("web: {embed: ['https://shop.test']}")
	reload()
	bustest.Eventually(t, "no account is left", func() bool { return len(states()) == 0 })
	resp, err := http.Get("http://" + address + "/chat?embed=1")
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if policy := resp.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "frame-ancestors https://shop.test") {
		t.Errorf("the page that has changed says %q", policy)
	}
	write()
	reload()
	bustest.Eventually(t, "no page", func() bool {
		return chat("/chat") == http.StatusNotFound && chat("/chat/api/me") == http.StatusNotFound
	})
}
