package doors_test

import (
	"errors"
	"strings"
	"testing"

	"agenthost/bus"
	"agenthost/bus/filestore"
	"agenthost/doors"
	"agenthost/doors/doorstest"

	"github.com/google/go-cmp/cmp"
)

func TestFileName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"a.png": "a.png", "/etc/passwd": "passwd", `C:\x\y.txt`: "y.txt", "../..": "file", "": "file", ".": "file",
		"a\nb\x00\xff": "ab", strings.Repeat("ä", 200): strings.Repeat("ä", 100),
	} {
		if got := doors.FileName(name); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}

func TestKeepFile(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, "")
	files := filestore.New(h.Client.JetStream())
	const png = "\x89PNG\r\n\x1a\n0000"
	for name, tt := range map[string]struct {
		name, mime, content string
		want                bus.Media
	}{
		"said":     {"a.png", "image/png; x=y", "x", bus.Media{Kind: "image", MIME: "image/png", Name: "a.png", Size: 1}},
		"found":    {"a", "", png, bus.Media{Kind: "image", MIME: "image/png", Name: "a", Size: 12}},
		"by name":  {"a.json", "", "{}", bus.Media{Kind: "file", MIME: "application/json", Name: "a.json", Size: 2}},
		"nonsense": {"a", "no type", "\x00", bus.Media{Kind: "file", MIME: "application/octet-stream", Name: "a", Size: 1}},
		"empty":    {"a", "", "", bus.Media{Kind: "file", MIME: "text/plain", Name: "a"}},
	} {
		got, err := doors.KeepFile(t.Context(), files, tt.name, tt.mime, []byte(tt.content))
		if err != nil {
			t.Fatal(err)
		}
		if data, err := files.Get(t.Context(), got.Object); err != nil || string(data) != tt.content {
			t.Errorf("%s: stored is %q, %v", name, data, err)
		}
		got.Object = ""
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// The files of a message that cannot be stored are left: hosts delete them, or nothing ever would.
func TestFilesOfAMessageThatIsRefused(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, "")
	files := filestore.New(h.Client.JetStream())
	keep := func(content string) bus.Media {
		t.Helper()
		m, err := doors.KeepFile(t.Context(), files, "a", "", []byte(content))
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	d := desk(t, h)
	r := doors.Request{
		Agent: "ana", Conversation: "c", Text: strings.Repeat("x", 2<<20), Media: []bus.Media{keep("one"), {URL: "https://a.test/b"}},
		History: []bus.Turn{{Role: bus.TurnUser, Media: []bus.Media{keep("two")}}},
	}
	if _, err := d.Send(t.Context(), r); !errors.Is(err, bus.ErrMalformed) {
		t.Fatalf("got %v", err)
	}
	left := func() int {
		t.Helper()
		list, err := files.Left(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	if n := left(); n != 2 {
		t.Errorf("%d are left, want 2", n)
	}
	r.Text, r.Media[0] = "hi", keep("one")
	final(t, send(t, d, r))
	if n := left(); n != 1 {
		t.Errorf("%d are left once one of them is sent, want 1", n)
	}
}
