package bus_test

import (
	"net"
	"sync"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/internal/natsserver"
)

// A server in this process that takes seconds to answer, as on a busy machine, is waited for.
func TestServerOfThisProcessIsSlow(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		opt := bus.Options{Name: "test", Log: bustest.Log(t), Config: bustest.Config(t)}
		s, err := natsserver.Start(t.Context(), opt)
		if err != nil {
			t.Fatal(err)
		}
		opt.Server = slow{s}
		opt.Config.User, opt.Config.Password = bus.EmbeddedUser, s.Token()
		b, err := bus.Open(opt)
		if err != nil {
			t.Fatal(err)
		}
		b.Close()
	})
}

// A slow server is heard seconds later.
type slow struct{ bus.Server }

func (s slow) InProcessConn() (net.Conn, error) {
	conn, err := s.Server.InProcessConn()
	return &slowConn{Conn: conn}, err
}

type slowConn struct {
	net.Conn
	first sync.Once
}

func (c *slowConn) Read(p []byte) (int, error) {
	c.first.Do(func() { time.Sleep(5 * time.Second) })
	return c.Conn.Read(p)
}
