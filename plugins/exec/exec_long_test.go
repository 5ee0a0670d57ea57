//go:build long

package exec_test

import (
	"fmt"
	"strings"
	"testing"

	"agenthost/plugins/settings"
)

// A program that only says what there is, and never reads, is heard for ever: more than a pipe
// holds of accepted.
func TestProgramThatNeverReads(t *testing.T) {
	t.Parallel()
	const many = 1500 // the answers are more than a pipe holds
	id := strings.Repeat("a", 100)
	script := fmt.Sprintf(`i=0; while [ $i -lt %d ]; do i=$((i+1)); echo '{"type":"inbound","message":{"id":"%s'$i'","text":"x"}}'; done; exec sleep 600`, many, id)
	s := serve(t, func(*platform) settings.Exec { return settings.Exec{Command: []string{"sh", "-c", script}} })
	s.inbound(many)
	if want := "does not read its input"; !strings.Contains(s.log.String(), want) {
		t.Errorf("the log does not say %q", want)
	}
}
