package matrix

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"agenthost/plugins"
	"agenthost/plugins/settings"
)

// A homeserver that never gives what was written in one room keeps the account from the
// other rooms for some minutes, not for ever.
func TestHistoryThatIsNeverGiven(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.Contains(r.URL.Path, "!forbidden:test"):
			w.WriteHeader(http.StatusUnauthorized)
		case strings.Contains(r.URL.Path, "!refused:test"):
			w.WriteHeader(http.StatusBadRequest)
		case strings.Contains(r.URL.Path, "!broken:test"):
			w.WriteHeader(http.StatusBadGateway)
		default:
			panic(http.ErrAbortHandler)
		}
	}))
	defer srv.Close()
	made, err := New(settings.Matrix{Homeserver: srv.URL, Token: "t"})
	if err != nil {
		t.Fatal(err)
	}
	c := made.(*Channel)
	r := &reader{Channel: c, client: &client{base: c.base, http: c.http}, inbox: plugins.New(plugins.Account{Channel: "test"}, made, plugins.Parts{}).Inbox()}
	tries := func(room string) int {
		for n := 1; n <= 2*gapAttempts; n++ {
			if _, err := r.between(context.Background(), room, "t1", nil); err == nil {
				return n
			}
		}
		return 0
	}
	for _, room := range []string{"!refused:test", "!broken:test", "!aborts:test", "!broken:test"} { // the last is another gap
		if n := tries(room); n != gapAttempts {
			t.Errorf("the history of %s is left out with try %d, want %d", room, n, gapAttempts)
		}
	}
	if n := tries("!forbidden:test"); n != 0 {
		t.Errorf("the history is left out with try %d where the account is not let in", n)
	}
}
