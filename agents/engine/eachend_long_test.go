//go:build long

package engine_test

import "testing"

// What comes again is told apart however the host has ended, and however the agent is divided.
func TestEachEndWithEachDivision(t *testing.T) {
	crossed = true
	defer func() { crossed = false }()
	for name, test := range map[string]func(*testing.T){
		"before an approval":       TestMessagesFromBeforeAnApprovalComeAgain,
		"of strangers":             TestMessagesOfStrangersComeAgain,
		"late, before an approval": TestLateMessagesFromBeforeAnApproval,
		"before a revocation":      TestMessagesFromBeforeARevocationComeAgain,
		"of deleted sessions":      TestMessagesOfDeletedSessionsComeAgain,
		"behind a deletion":        TestMessagesBehindADeletion,
		"over the rate":            TestMessagesOverTheRateComeAgain,
	} {
		t.Run(name, test)
	}
}
