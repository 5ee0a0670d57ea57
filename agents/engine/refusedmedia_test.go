package engine_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"sync/atomic"
	"testing"

	"agenthost/bus"
	"agenthost/llm"
)

// A model that is blind refuses every request with an attachment, as servers do
// whose model sees no images, or that cannot fetch one any more.
type blind struct {
	status int
	calls  atomic.Int64
}

func (b *blind) Stream(_ context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		b.calls.Add(1)
		text := ""
		for _, m := range req.Messages {
			for _, p := range m.Parts {
				if p.Type == llm.MediaPart {
					yield(llm.Delta{}, llm.StatusError(b.status, nil, errors.New("cannot fetch the image")))
					return
				}
				text += p.Text + "|"
			}
		}
		_ = yield(llm.Delta{Text: text}, nil) && yield(llm.Delta{Finish: llm.FinishStop}, nil)
	}
}

// An image that the model's server refuses costs the session the image, and not
// every answer from then on.
func TestRefusedImage(t *testing.T) {
	t.Parallel()
	const gone = `see|[image "a.png" is not shown: the model refused a request with it]|`
	for name, status := range map[string]int{"bad request": 400, "no model sees images": 404, "too large": 413, "wrong type": 415, "unprocessable": 422} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := &blind{status: status}
			w := newWorld(t, bot("ana", func(a *actor) { a.model = model }))
			w.say("ana", bus.Inbound{Text: "see", Media: []bus.Media{{Kind: "image", Name: "a.png", URL: "https://example.org/a.png"}}})
			w.expect("reply", gone)
			w.say("ana", bus.Inbound{Text: "and now?"})
			w.expect("reply", gone+gone+"|and now?|")
			w.settled()
			if n := model.calls.Load(); n != 3 {
				t.Errorf("%d calls, want 3: one with the image, and one without for each message", n)
			}
		})
	}
}

// A picky model refuses every request with an attachment that is called bad.
type picky struct{ calls atomic.Int64 }

func (c *picky) Stream(_ context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		c.calls.Add(1)
		seen := ""
		for _, m := range req.Messages {
			for _, media := range m.Media() {
				if strings.HasPrefix(media.Name, "bad") {
					yield(llm.Delta{}, llm.StatusError(400, nil, errors.New("cannot read the image")))
					return
				}
				seen += media.Name + " "
			}
		}
		_ = yield(llm.Delta{Text: "I see " + seen}, nil) && yield(llm.Delta{Finish: llm.FinishStop}, nil)
	}
}

// Of several attachments only the one that is refused is hidden, also from later calls, and also where
// it is not the newest.
func TestRefusedImageAmongOthers(t *testing.T) {
	t.Parallel()
	model := &picky{}
	ana := bot("ana", func(a *actor) { a.model = model })
	w := newWorld(t, ana)
	see := func(name string) bus.Inbound {
		return bus.Inbound{Text: "see", Media: []bus.Media{{Kind: "image", Name: name, URL: "https://example.org/" + name}}}
	}
	for _, tt := range []struct {
		says  bus.Inbound
		want  string
		calls int64
	}{
		{see("a.png"), "I see a.png ", 1},
		{see("bad.png"), "I see a.png ", 2},
		{bus.Inbound{Text: "and now?"}, "I see a.png ", 1},
		{see("b.png"), "I see a.png b.png ", 1},
	} {
		before := model.calls.Load()
		w.say("ana", tt.says)
		w.expect("reply", tt.want)
		if n := model.calls.Load() - before; n != tt.calls {
			t.Errorf("%+v: %d calls, want %d", tt.says, n, tt.calls)
		}
	}
	w.settled()
	w.stop()
	w.start(ana) // which has forgotten what was refused
	before := model.calls.Load()
	w.say("ana", bus.Inbound{Text: "again?"})
	w.expect("reply", "I see a.png b.png ")
	w.say("ana", bus.Inbound{Text: "and again?"})
	w.expect("reply", "I see a.png b.png ")
	if n := model.calls.Load() - before; n != 4 {
		t.Errorf("after a start: %d calls, want 4: whole, without the newest, without the one before it, and that again", n)
	}
	w.settled()
}

// A request that is wrong without an attachment is not sent again.
func TestRefusedWithoutMedia(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bot("ana", script(`rules: [{times: 1, error: {status: 400}}, {text: again}]`)))
	w.say("ana", bus.Inbound{Text: "hi"})
	w.expect("error", "I couldn't make sense of that message.")
	w.settled()
}

// Of the attachments of one message, too, the one that is refused is hidden alone: it is looked for
// among those of a kind, or one by one.
func TestRefusedAmongThoseOfAMessage(t *testing.T) {
	t.Parallel()
	file := func(kind, name string) bus.Media {
		return bus.Media{Kind: kind, Name: name, URL: "https://example.org/" + name}
	}
	for name, tt := range map[string]struct {
		media []bus.Media
		want  string
		calls int64
	}{
		"of two kinds":   {[]bus.Media{file("image", "a.png"), file("file", "bad.pdf"), file("image", "b.png")}, "I see a.png b.png ", 3},
		"of one kind":    {[]bus.Media{file("image", "a.png"), file("image", "bad.png"), file("image", "b.png")}, "I see a.png b.png ", 3},
		"all of a kind":  {[]bus.Media{file("file", "bad1.pdf"), file("image", "a.png"), file("file", "bad2.pdf")}, "I see a.png ", 2},
		"several":        {[]bus.Media{file("image", "bad1.png"), file("image", "bad2.png"), file("image", "a.png")}, "I see ", 5},
		"more than four": {[]bus.Media{file("image", "a"), file("image", "b"), file("image", "c"), file("image", "d"), file("image", "bad")}, "I see ", 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := &picky{}
			w := newWorld(t, bot("ana", func(a *actor) { a.model = model }))
			w.say("ana", bus.Inbound{Text: "see", Media: tt.media})
			w.expect("reply", tt.want)
			w.settled()
			if n := model.calls.Load(); n != tt.calls {
				t.Errorf("%d calls, want %d", n, tt.calls)
			}
		})
	}
}
