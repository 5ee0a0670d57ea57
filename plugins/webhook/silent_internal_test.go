package webhook

import (
	"net/http"
	"testing"

	"agenthost/internal/httptransport/transporttest"
	"agenthost/plugins/settings"
)

func TestLeavesSilentConnection(t *testing.T) {
	c, err := New(settings.Webhook{Secret: "whsec_c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0", Reply: settings.ReplyCallback, Callback: "https://shop.test/"})
	if err != nil {
		t.Fatal(err)
	}
	transport, ok := c.client.Transport.(*http.Transport)
	if !ok {
		t.Fatal("the connections are those of http.DefaultTransport, which stays with one that is lost")
	}
	transporttest.LeavesSilent(t, transport)
}
