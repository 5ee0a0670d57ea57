package slack

import (
	"strings"
	"testing"
)

// What is streamed can only grow, whatever an answer holds.
func TestStreamedText(t *testing.T) {
	t.Parallel()
	const answer = "**One** and *two* with a [link](https://x.test/?a=1&b=2), a < b.\n\n```go\nif a < b {\n\treturn *p\n}\n```\n\n- ~~old~~\n- new\n\nThe end.\n\nIt is.\n"
	before := ""
	for i := range answer {
		now := streamed(mrkdwn.Render(answer[:i]))
		if !strings.HasPrefix(now, before) && !strings.HasPrefix(before, now) {
			t.Fatalf("after %q:\ngot  %q\nwant %q and more", answer[:i], now, before)
		}
		if len(now) > len(before) {
			before = now
		}
	}
	want := "**One** and _two_ with a [link](https://x.test/?a=1&b=2), a < b.\n\n```\nif a < b {\n\treturn *p\n}\n```\n\n• ~~old~~\n• new\n\nThe end.\n\n"
	if before != want {
		t.Errorf("got  %q\nwant %q", before, want)
	}
}
