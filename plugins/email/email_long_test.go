//go:build long

package email

import (
	"strings"
	"testing"

	"agenthost/plugins/email/emailtest"
)

// A network that drops what it should carry is noticed by the missing answer, not a quarter of
// an hour later by TCP.
func TestSilentServerIsLeft(t *testing.T) {
	t.Parallel()
	p := emailtest.New(t)
	in := &memory{}
	serve(t, channel(t, account(p)), in)
	p.Arrive(hello)
	in.next(t, 1)
	p.Silence()
	p.Arrive(strings.Replace(hello, "m1@", "m2@", 1))
	in.next(t, 2)
}
