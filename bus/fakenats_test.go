package bus_test

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
)

// A fakeNATS says what no server of today says: it greets as version and
// gives the answers one after the other, the last for ever, to requests.
type fakeNATS struct {
	version string
	answers []string

	mu    sync.Mutex
	asked int
}

// serve returns the fake's URL; it ends with the test.
func (f *fakeNATS) serve(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	t.Cleanup(func() { l.Close(); wg.Wait() })
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { f.talk(conn) })
		}
	})
	return "nats://" + l.Addr().String()
}

func (f *fakeNATS) talk(conn net.Conn) {
	defer conn.Close()
	fmt.Fprintf(conn, "INFO {\"server_id\":\"x\",\"version\":%q,\"headers\":true,\"max_payload\":1048576}\r\n", f.version)
	sid, in := "", bufio.NewScanner(conn)
	for in.Scan() {
		switch word := append(strings.Fields(in.Text()), "", "", ""); word[0] {
		case "PING":
			fmt.Fprint(conn, "PONG\r\n")
		case "SUB":
			sid = word[2]
		case "PUB": // PUB subject reply size, as every request of nats.go is
			answer := f.next()
			fmt.Fprintf(conn, "MSG %s %s %d\r\n%s\r\n", word[2], sid, len(answer), answer)
		}
	}
}

func (f *fakeNATS) next() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked++
	return f.answers[min(f.asked, len(f.answers))-1]
}

// silent listens and never says a word; it ends with the test.
func silent(t *testing.T) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return "nats://" + l.Addr().String()
}
