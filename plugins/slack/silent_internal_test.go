package slack

import (
	"net/http"
	"testing"

	"agenthost/internal/httptransport/transporttest"
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
