package client_test

import (
	"testing"
	"time"

	"agenthost/client"
)

func TestParseExpiry(t *testing.T) {
	now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"30d": now.AddDate(0, 0, 30), "12h": now.Add(12 * time.Hour), "2027-01-31": time.Date(2027, 1, 31, 0, 0, 0, 0, time.UTC),
		"2027-01-31T10:00:00Z": time.Date(2027, 1, 31, 10, 0, 0, 0, time.UTC),
	} {
		if got, err := client.ParseExpiry(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%s: got %v, %v, want %v", text, got, err, want)
		}
	}
	// A year of five digits cannot be stored.
	for _, text := range []string{"", "0d", "-3d", "9999999d", "-1h", "soon", "2027-02-30"} {
		if got, err := client.ParseExpiry(text, now); err == nil {
			t.Errorf("%s: got %v", text, got)
		}
	}
}
