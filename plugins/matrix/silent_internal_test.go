package matrix

import (
	"context"
	"net/http"
	"testing"

	"agenthost/internal/httptransport/transporttest"
	"agenthost/plugins"
	"agenthost/plugins/settings"
)

func TestLeavesSilentConnection(t *testing.T) {
	c, err := New(settings.Matrix{Homeserver: "https://matrix.test", Token: "t"})
	if err != nil {
		t.Fatal(err)
	}
	transport, ok := c.(*Channel).http.Transport.(*http.Transport)
	if !ok {
		t.Fatal("the connections are those of http.DefaultTransport, which stays with one that is lost")
	}
	transporttest.LeavesSilent(t, transport)
}

// Nothing else is read of the account while a file comes.
func TestFileOfSilentServer(t *testing.T) {
	made, err := New(settings.Matrix{Homeserver: "http://matrix.test", Token: "t"})
	if err != nil {
		t.Fatal(err)
	}
	c := made.(*Channel)
	r := &reader{Channel: c, client: &client{base: c.base, http: c.http}, inbox: plugins.New(plugins.Account{Channel: "test"}, made, plugins.Parts{}).Inbox()}
	transporttest.EndsInSilence(t, c.http.Transport.(*http.Transport), func(ctx context.Context) error {
		_, err := r.tryDownload(ctx, message{URL: "mxc://matrix.test/1"}, false)
		return err
	})
}
