package irc

import (
	"bufio"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// A server that says nothing, as when the network drops what it says, is left before people
// have waited for long.
func TestLeavesSilentServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		defer theirs.Close()
		go func() { _, _ = io.Copy(io.Discard, theirs) }() // until ours is closed
		defer ours.Close()
		c := &connection{conn: ours, lines: bufio.NewReaderSize(ours, longestLine)}
		left := make(chan error, 1)
		go func() {
			_, err := c.read()
			left <- err
		}()
		select {
		case err := <-left:
			if err == nil {
				t.Error("it has read a line")
			}
		case <-time.After(2 * time.Minute):
			t.Error("it still waits after two minutes")
		}
	})
}
