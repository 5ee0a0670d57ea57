package config_test

import (
	"fmt"
	"testing"
	"time"

	"agenthost/config"
)

// Days of 24 hours are a unit of durations as the others are.
func TestDurationsInDays(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"365d": 365 * 24 * time.Hour, "1d12h": 36 * time.Hour, "1.5d": 36 * time.Hour, "12h1d": 36 * time.Hour, "90m": 90 * time.Minute, "0.5d30m": 12*time.Hour + 30*time.Minute,
	} {
		c := parse(t, fmt.Sprintf("models: {m: {provider: echo}}\nagents: [{id: a, retention: {sessions: %s}}]\n", text))
		if got := c.Agents[0].Retention.Sessions; got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
	for _, text := range []string{"d", "1dd", "-1d", "0d", "1d-2h", "9999999d", "1 d", "1day", "1e3d", ".d"} {
		if c, err := config.Parse("a.yaml", fmt.Appendf(nil, "models: {m: {provider: echo}}\nagents: [{id: a, retention: {sessions: %q}}]\n", text)); err == nil {
			t.Errorf("%s: got %s, want an error", text, c.Agents[0].Retention.Sessions)
		}
	}
}
