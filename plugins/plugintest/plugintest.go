// Package plugintest is the suite that every channel passes. A channel's tests bring
// the other side, as a person and the platform see it; the suite brings NATS, the
// courier and an agent.
package plugintest

import (
	"sync"
	"testing"
	"time"

	"agenthost/plugins"
	"agenthost/plugins/settings"
)

// A Suite is what the suite needs of a channel.
type Suite struct {
	// New makes a platform on which nothing was said yet. It ends with t. It is called
	// once at a time.
	New func(t testing.TB) Platform
	// Account is the account's settings; the suite sets Groups itself.
	Account settings.Account
	// Shared is true where all platforms are on one server, which Disconnect stops.
	Shared bool
}

// A Platform is the other side of a channel. What is nil the platform does not have,
// and no test asks for it; Channel, Write and Sent have to be there.
type Platform struct {
	// Channel makes the channel that is tested. A host that is started again makes
	// another one, on the same account.
	Channel func() plugins.Channel
	// Write sends what a person writes.
	Write func(w Written)
	// Sent is what a person sees in a chat of what the account has sent, in order. It
	// is asked again and again.
	Sent func(chat Chat) []Sent
	// Repeat sends once more what was written last, under the same id.
	Repeat func()
	// Keeps is true where what the account could not take comes again, and Write needs
	// no account that is connected.
	Keeps bool
	// Typing reports whether a chat shows that an answer is being written, or has since
	// it was asked last.
	Typing func(chat Chat) bool
	// Preview is what a chat shows of an answer that is being written; empty: nothing.
	Preview func(chat Chat) string
	// Press presses the button with this label on the last message that has one.
	Press func(chat Chat, label string)
	// RateLimit lets the next message be refused, for this long.
	RateLimit func(wait time.Duration)
	// Refuse lets the next message be refused for good.
	Refuse func()
	// Fail lets the next message fail in a way that passes.
	Fail func()
	// Persons is true for a platform without groups.
	Persons bool
	// Disconnect cuts the connection of the account, which may come back.
	Disconnect func()
}

// A Chat is where something is written.
type Chat string

// The chats of a suite.
const (
	Direct Chat = "direct" // of one person with the account
	Group  Chat = "group"  // with two persons in it
)

// Written is what a person writes.
type Written struct {
	Chat    Chat
	Other   bool // by the second person of the group
	Mention bool // of the account; only in the group
	Text    string
	File    *plugins.File // with a name, a MIME type and data
}

// Sent is a message of the account as a person sees it.
type Sent struct {
	Text    string
	File    []byte
	Name    string // of the file
	Buttons []string
}

const reconnect = "reconnect"

// Run runs the suite. Its tests run side by side, each on a platform of its own.
func Run(t *testing.T, s Suite) {
	tests := []struct {
		name  string
		run   func(*testing.T, *world)
		needs func(Platform, plugins.Limits) bool
	}{
		{"in and out", testEcho, nil},
		{"the same message twice", testTwice, func(p Platform, _ plugins.Limits) bool { return p.Repeat != nil }},
		{"a message that NATS does not take", testNotTaken, func(p Platform, _ plugins.Limits) bool { return p.Keeps }},
		{"order", testOrder, nil},
		{"typing", testTyping, func(p Platform, l plugins.Limits) bool { return p.Typing != nil && l.Typing > 0 }},
		{"a preview", testPreview, func(p Platform, l plugins.Limits) bool { return p.Preview != nil && l.Preview > 0 }},
		{"a long text", testLong, nil},
		{"a group", testGroup, hasGroups},
		{"every message of a group", testGroupAll, hasGroups},
		{"rate limit", testRateLimit, func(p Platform, _ plugins.Limits) bool { return p.RateLimit != nil }},
		{"a permanent refusal", testRefusal, func(p Platform, _ plugins.Limits) bool { return p.Refuse != nil }},
		{"a failure that passes", testFailure, func(p Platform, _ plugins.Limits) bool { return p.Fail != nil }},
		{reconnect, testReconnect, func(p Platform, _ plugins.Limits) bool { return p.Disconnect != nil }},
		{"a file to the agent", testFileIn, hasFiles},
		{"a file from the agent", testFileOut, nil},
		{"an approval", testApproval, nil},
		{"a host that is killed before it has told NATS", testKilledBeforeAck, nil},
		{"a host that is stopped", testStopped, nil},
		{"replies while no host runs", testReplyWhileAway, nil},
	}
	var one sync.Mutex
	platform := func(t testing.TB) Platform {
		one.Lock()
		defer one.Unlock()
		return s.New(t)
	}
	probe := platform(t)
	limits := probe.Channel().Limits()
	for _, test := range tests {
		if test.needs == nil || test.needs(probe, limits) {
			t.Run(test.name, func(t *testing.T) {
				if test.name != reconnect || !s.Shared { // else first and alone
					t.Parallel() // they mostly wait, for what a dead host held and a platform's limits
				}
				test.run(t, newWorld(t, s, platform(t)))
			})
		}
	}
}

func hasGroups(p Platform, l plugins.Limits) bool { return !l.Whole && !p.Persons }

func hasFiles(p Platform, l plugins.Limits) bool { return l.File > 0 }
