package slack

import (
	"context"
	"net/http"
	"testing"

	"agenthost/internal/httptransport/transporttest"
	"agenthost/plugins"
	"agenthost/plugins/settings"
)

func TestLeavesSilentConnection(t *testing.T) {
	c, err := New(settings.Slack{AppToken: "xapp-1", BotToken: "xoxb-1"})
	if err != nil {
		t.Fatal(err)
	}
	transport, ok := c.(*Channel).api.http.Transport.(*http.Transport)
	if !ok {
		t.Fatal("the connections are those of http.DefaultTransport, which stays with one that is lost")
	}
	transporttest.LeavesSilent(t, transport)
}

// Nothing else is read of the account while a file comes.
func TestFileOfSilentServer(t *testing.T) {
	made, err := New(settings.Slack{API: "http://api.test", AppToken: "xapp-1", BotToken: "xoxb-1"})
	if err != nil {
		t.Fatal(err)
	}
	r := &reader{Channel: made.(*Channel), inbox: plugins.New(plugins.Account{Channel: "test"}, made, plugins.Parts{}).Inbox()}
	transporttest.EndsInSilence(t, r.api.http.Transport.(*http.Transport), func(ctx context.Context) error {
		_, err := r.tryLoad(ctx, sharedFile{ID: "F1", URL: "http://api.test/file"})
		return err
	})
}
