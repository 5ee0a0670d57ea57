// Package chaos has the tests in which hosts and servers are killed, cut off, paused and run
// out of disk and memory, as processes of their own. They have the build tag long.
package chaos
