//go:build !long

package session_test

// Logs of any course, that are replayed, and of busy sessions, that are rewritten.
const (
	manyLogs = 20
	busyLogs = 4
)
