package budget

import "testing"

// Each alert has a mark of its own; that of a person ends with their record, by which it is erased.
func TestAlertKeys(t *testing.T) {
	t.Parallel()
	for want, a := range map[string]alert{
		"ana.2026-03-15.alert.day-50":           {agent: "ana", period: "2026-03-15", span: OfDay, share: 0.5},
		"ana.2026-03-15.alert.day-99.5":         {agent: "ana", period: "2026-03-15", span: OfDay, share: 0.995},
		"ana.2026-03.alert.month-80":            {agent: "ana", period: "2026-03", span: OfMonth, share: 0.8},
		"ana.2026-03-15.alert.peer_day-50.eves": {agent: "ana", period: "2026-03-15", span: OfPeer, share: 0.5, record: "eves"},
	} {
		if got := a.key(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
