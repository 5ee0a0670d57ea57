//go:build long

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"agenthost/bus/bustest"
	"agenthost/client"
)

// What was taken is answered although the host is killed around the callback, and
// the program of an exec plugin gets what it had not delivered.
func TestChannelsOutliveTheHost(t *testing.T) {
	t.Parallel()
	dir, address, back := t.TempDir(), freeAddress(t), newReceiver(t)
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
`, address, freeAddress(t), back.URL))
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
