package host_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"agenthost/bus"
	"agenthost/bus/filestore"
	"agenthost/config"
	"agenthost/hooks"
	"agenthost/llm"

	"github.com/nats-io/nats.go/jetstream"
)

var png = []byte("\x89PNG\r\n\x1a\n and so on")

// put stores an object as a channel does, under a name of its own.
func put(t *testing.T, js jetstream.JetStream, name string, data []byte) {
	t.Helper()
	store, err := js.ObjectStore(t.Context(), bus.FilesBucket)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.PutBytes(t.Context(), name, data); err != nil {
		t.Fatal(err)
	}
}

// seeing makes the model of cfg one that says "seen" and tells what it was sent.
func seeing(t *testing.T, cfg *config.Config) (requests chan string) {
	t.Helper()
	requests = make(chan string, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		requests <- string(body)
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, `data: {"choices":[{"delta":{"content":"seen"},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(server.Close)
	cfg.Models["echo"] = llm.Config{Provider: "openai", Model: "m", BaseURL: server.URL, APIKey: "key"}
	return requests
}

// A hook may show the model an image in a conversation that has none.
func TestImagesOfHooksReachTheModel(t *testing.T) {
	t.Parallel()
	cfg := demo(t)
	requests := seeing(t, cfg)
	cfg.Hooks = []hooks.Config{{On: hooks.BeforeModelCall, Subject: "acme.show"}}
	h, _ := start(t, cfg)
	put(t, h.Bus().JS, "tg-1", png)
	respond(t, h.Bus().NC, "acme.show", func(call hooks.Call) any {
		m := llm.UserText("look")
		m.Parts = append(m.Parts, llm.Part{Type: llm.MediaPart, Media: &llm.Media{Kind: "image", Object: "tg-1"}})
		return map[string]any{"action": "override", "args": map[string]any{"messages": []llm.Message{m}, "tools": call.Args["tools"]}}
	})
	publish(t, h.Bus().NC, "plugin.inbound.demo", bus.Inbound{From: "ana", Text: "hi"})
	if got := <-requests; !strings.Contains(got, base64.StdEncoding.EncodeToString(png)) {
		t.Errorf("got %s, want the image in it", got)
	}
}

// What a model makes reaches the channel as an object, also without a word.
func TestModelsMakeMedia(t *testing.T) {
	t.Parallel()
	h, _ := start(t, scripted(t, `
rules:
  - {is: draw, media: [{mime: image/png, name: a.png, base64: `+base64.StdEncoding.EncodeToString(png)+`}]}
  - {is: draw and tell, text: "Here.", media: [{mime: image/png, base64: `+base64.StdEncoding.EncodeToString(png)+`}]}
  - {text: "${text}"}
`))
	for text, want := range map[string]string{"draw": "", "draw and tell": "Here."} {
		out := outbound(t, h.Bus().NC, 1)
		publish(t, h.Bus().NC, "plugin.inbound.demo", bus.Inbound{From: "ana", Text: text})
		r := out()[0]
		if r.Kind != bus.KindReply || !r.Final || r.Text != want || len(r.Media) != 1 {
			t.Fatalf("%s: got %+v", text, r)
		}
		m := r.Media[0]
		if m.Kind != "image" || m.MIME != "image/png" || m.Size != int64(len(png)) {
			t.Errorf("%s: got %+v", text, m)
		}
		data, err := filestore.New(h.Bus().JS).Get(t.Context(), m.Object)
		if err != nil || !bytes.Equal(data, png) {
			t.Errorf("%s: the object is %q, %v", text, data, err)
		}
	}
	out := outbound(t, h.Bus().NC, 1)
	publish(t, h.Bus().NC, "plugin.inbound.demo", bus.Inbound{From: "ana", Text: "go on"})
	if r := out()[0]; r.Text != "go on" || r.Media != nil {
		t.Errorf("the next answer: got %+v", r)
	}
}

// Google's API is sent what a channel has stored of the kinds that it reads, such as
// a document or a voice message.
func TestFilesReachGemini(t *testing.T) {
	t.Parallel()
	cfg := demo(t)
	requests := make(chan string, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		requests <- string(body)
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, `data: {"candidates":[{"content":{"role":"model","parts":[{"text":"seen"}]},"finishReason":"STOP"}]}`+"\n\n")
	}))
	t.Cleanup(server.Close)
	cfg.Models["echo"] = llm.Config{Provider: "gemini", Model: "gemini-2.5-flash", BaseURL: server.URL, APIKey: "key"}
	h, _ := start(t, cfg)
	put(t, h.Bus().JS, "tg-1", []byte("%PDF-1.4"))
	put(t, h.Bus().JS, "tg-2", []byte("OggS"))
	put(t, h.Bus().JS, "tg-3", []byte("PK"))
	out := outbound(t, h.Bus().NC, 1)
	publish(t, h.Bus().NC, "plugin.inbound.demo", bus.Inbound{From: "ana", Text: "look", Media: []bus.Media{
		{Kind: "file", MIME: "application/pdf", Name: "a.pdf", Object: "tg-1"},
		{Kind: "audio", MIME: "audio/ogg; codecs=opus", Object: "tg-2"},
		{Kind: "file", MIME: "application/zip", Name: "a.zip", Object: "tg-3"},
	}})
	if r := out()[0]; r.Text != "seen" {
		t.Fatalf("got %+v", r)
	}
	got := <-requests
	for _, want := range []string{
		`"inlineData":{"mimeType":"application/pdf","data":"JVBERi0xLjQ="}`, `"inlineData":{"mimeType":"audio/ogg","data":"T2dnUw=="}`,
		`[attached file \"a.zip\"]`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("got %s, want %s in it", got, want)
		}
	}
}
