package web_test

import (
	"net/http"
	"strings"
	"testing"

	"agenthost/bus/filestore"
	"agenthost/config"
	"agenthost/plugins/settings"
)

// The files of a message that is not taken are left: hosts delete them, or nothing ever would.
func TestFilesOfAMessageThatIsNotTaken(t *testing.T) {
	t.Parallel()
	base, h := serve(t, func(c *config.Config) { c.Plugins.Web = &settings.Web{MaxFile: 1000} })
	files := filestore.New(h.Bus().JS)
	v := visit(t, base)
	left := func() int {
		t.Helper()
		list, err := files.Left(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	small := file{"a", "text/plain", "small"}
	if res := v.upload(message("message-1", "hi"), small, file{"big", "text/plain", strings.Repeat("x", 1001)}); res.StatusCode != http.StatusRequestEntityTooLarge {
		t.Fatalf("a file that is too large: got %d", res.StatusCode)
	}
	if n := left(); n != 1 {
		t.Errorf("behind a file that is too large %d are left, want 1", n)
	}
	if res := v.upload(message("message-1", "hi"), small); res.StatusCode != http.StatusAccepted || left() != 0 {
		t.Errorf("sent without it: got %d, and %d are left, want none", res.StatusCode, left())
	}
	if res := v.upload(message("message-1", "hi"), small); res.StatusCode != http.StatusAccepted || left() != 0 {
		t.Errorf("sent again: got %d, and %d are left, want none", res.StatusCode, left())
	}
	if res := v.upload(message("message-1", "hi"), file{"b", "text/plain", "other"}); res.StatusCode != http.StatusAccepted || left() != 1 {
		t.Errorf("the same id with another file: got %d, and %d are left, want 1", res.StatusCode, left())
	}
}
