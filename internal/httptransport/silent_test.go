package httptransport_test

import (
	"testing"

	"agenthost/internal/httptransport"
	"agenthost/internal/httptransport/transporttest"
)

func TestLeavesSilentConnection(t *testing.T) {
	transporttest.LeavesSilent(t, httptransport.New())
}
