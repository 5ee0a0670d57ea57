package httpapi_test

import (
	"net/http"
	"testing"

	"agenthost/internal/httptransport/transporttest"
	"agenthost/llm"
	"agenthost/llm/httpapi"
)

func TestLeavesSilentConnection(t *testing.T) {
	transporttest.LeavesSilent(t, httpapi.Client(llm.Timeouts{}, nil).Transport.(*http.Transport))
}
