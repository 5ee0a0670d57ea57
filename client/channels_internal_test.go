package client

import (
	"fmt"
	"slices"
	"testing"
)

// What one host calls not configured another may have.
func TestJoinAccountsThatAreNotConfigured(t *testing.T) {
	t.Parallel()
	gone := AccountStatus{Channel: "irc", AccountState: AccountState{State: StateUnconfigured, Waiting: 2}}
	there := AccountStatus{Channel: "irc", AccountState: AccountState{State: "connected"}, Owns: true}
	tests := map[string]struct {
		reports []ChannelReport
		want    []string
	}{
		"no host has it":     {[]ChannelReport{{"a", []AccountStatus{gone}}, {"b", []AccountStatus{gone}}}, []string{"irc not configured 2 []"}},
		"another has it":     {[]ChannelReport{{"a", []AccountStatus{gone}}, {"b", []AccountStatus{there}}}, []string{"irc connected 0 [b]"}},
		"the first has it":   {[]ChannelReport{{"a", []AccountStatus{there}}, {"b", []AccountStatus{gone}}}, []string{"irc connected 0 [a]"}},
		"all hosts have it":  {[]ChannelReport{{"a", []AccountStatus{there}}, {"b", nil}}, []string{"irc connected 0 [a]"}},
		"no host has any":    {[]ChannelReport{{"a", nil}}, nil},
		"only one looks yet": {[]ChannelReport{{"a", nil}, {"b", []AccountStatus{gone}}}, []string{"irc not configured 2 []"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, one := range joinAccounts(tt.reports) {
				got = append(got, fmt.Sprintf("%s %s %d %v", one.Name(), one.State, one.Waiting, one.Hosts))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
