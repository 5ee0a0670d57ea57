//go:build !long

package heartbeat_test

// manyAtOnce are the schedules of one moment.
const manyAtOnce = 50
