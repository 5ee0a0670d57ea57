//go:build long

package host_test

import (
	"bytes"
	"encoding/base64"
	"strings"
	"testing"

	"agenthost/bus"
)

// What a channel puts into the object store reaches the model as it is; what it
// cannot be shown is told to it.
func TestImagesReachTheModel(t *testing.T) {
	t.Parallel()
	cfg := demo(t)
	requests := seeing(t, cfg)
	h, _ := start(t, cfg)
	put(t, h.Bus().JS, "tg-1", png)
	put(t, h.Bus().JS, "tg-2", append(bytes.Clone(png), bytes.Repeat([]byte{0}, 20<<20)...))
	put(t, h.Bus().JS, "tg-3", nil)
	ask := func(media ...bus.Media) string {
		t.Helper()
		out := outbound(t, h.Bus().NC, 1)
		publish(t, h.Bus().NC, "plugin.inbound.demo", bus.Inbound{From: "ana", Text: "look", Media: media})
		if r := out()[0]; r.Text != "seen" {
			t.Fatalf("got %+v", r)
		}
		return <-requests
	}
	url := `"image_url":{"url":"data:image/png;base64,` + base64.StdEncoding.EncodeToString(png) + `"}`
	if got := ask(bus.Media{Kind: "image", Name: "a.png", Object: "tg-1"}); !strings.Contains(got, url) {
		t.Errorf("got %s, want %s in it", got, url)
	}
	got := ask(bus.Media{Kind: "image", Name: "b.png", Object: "tg-2"}, bus.Media{MIME: "image/png", Object: "gone"},
		bus.Media{Kind: "image", Name: "c.png", Object: "tg-3", URL: "file:///etc/passwd"})
	if strings.Contains(got, "passwd") {
		t.Errorf("the model's server was given an address of this machine: %s", got)
	}
	for _, want := range []string{
		url, // it is shown again
		`[image \"b.png\" is not shown: a model sees 20 MB of attachments at most]`, `[image \"gone\" is not shown: it is not there any more]`,
		`[image \"c.png\" is not shown: it is empty]`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("got %s, want %s in it", got, want)
		}
	}
	for line := range strings.SplitSeq(sessionLog(t, h), "\n") {
		if strings.Contains(line, base64.StdEncoding.EncodeToString(png[:6])) {
			t.Errorf("the log holds the image: %s", line)
		}
	}
}
