package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/gorilla/websocket"
	"golang.org/x/sync/errgroup"

	"agenthost/plugins"
)

// errRefresh says that Slack wants the socket to be opened again.
var errRefresh = errors.New("the socket is renewed")

const (
	// pingWithin is how long a socket may be silent: Slack pings it about every 20 s.
	pingWithin   = 75 * time.Second
	writeWithin  = 10 * time.Second
	envelopeSize = 4 << 20
	backlog      = 64 // envelopes that are read ahead
)

// dialer opens sockets by the proxy by which the Web API is called.
var dialer = websocket.Dialer{HandshakeTimeout: requestTime, Proxy: http.ProxyFromEnvironment}

// An envelope is what Slack sends over a socket.
type envelope struct {
	ID      string          `json:"envelope_id"`
	Type    string          `json:"type"`
	Reason  string          `json:"reason"` // of a disconnect
	Payload json.RawMessage `json:"payload"`
}

// socketAddress asks where to connect to. An address is good for one connection.
func (c *Channel) socketAddress(ctx context.Context) (string, error) {
	var open struct {
		URL string `json:"url"`
	}
	if err := c.api.call(ctx, c.settings.AppToken, "apps.connections.open", nil, &open); err != nil {
		return "", loginError(fmt.Errorf("open a socket: %w", err))
	}
	return open.URL, nil
}

// serve reads one socket until it ends. It reads ahead, so that pings are answered
// while a message waits for NATS.
func (c *Channel) serve(ctx context.Context, in *plugins.Inbox, self *identity) error {
	address, err := c.socketAddress(ctx)
	if err != nil {
		return err
	}
	conn, resp, err := dialer.DialContext(ctx, address, nil)
	if resp != nil && resp.Body != nil {
		resp.Body.Close()
	}
	if err != nil {
		return fmt.Errorf("open a socket: %w", err)
	}
	defer conn.Close()
	group, ctx := errgroup.WithContext(ctx)
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	envelopes := make(chan envelope, backlog)
	group.Go(func() error { return read(ctx, conn, envelopes) })
	group.Go(func() error { return c.answer(ctx, conn, envelopes, in, self) })
	return group.Wait()
}

// read reads envelopes from a socket.
func read(ctx context.Context, conn *websocket.Conn, envelopes chan<- envelope) error {
	conn.SetReadLimit(envelopeSize)
	pong := conn.PingHandler()
	conn.SetPingHandler(func(data string) error {
		_ = conn.SetReadDeadline(time.Now().Add(pingWithin))
		return pong(data)
	})
	for {
		_ = conn.SetReadDeadline(time.Now().Add(pingWithin))
		var e envelope
		if err := conn.ReadJSON(&e); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fmt.Errorf("socket: %w", err)
		}
		select {
		case envelopes <- e:
		case <-ctx.Done():
			return ctx.Err()
		}
		if e.Type == "disconnect" {
			return nil // Slack closes the socket; what came before is still answered
		}
	}
}

// answer handles envelopes in order, and acknowledges each when what it holds is
// stored: what is not acknowledged in 3 s, Slack sends again.
func (c *Channel) answer(ctx context.Context, conn *websocket.Conn, envelopes <-chan envelope, in *plugins.Inbox, self *identity) error {
	r := &reader{Channel: c, inbox: in, self: self}
	for {
		var e envelope
		select {
		case e = <-envelopes:
		case <-ctx.Done():
			return ctx.Err()
		}
		then, err := r.handle(ctx, e)
		if err != nil {
			return err
		}
		if e.ID != "" {
			_ = conn.SetWriteDeadline(time.Now().Add(writeWithin))
			if err := conn.WriteJSON(map[string]string{"envelope_id": e.ID}); err != nil {
				return fmt.Errorf("socket: acknowledge: %w", err)
			}
		}
		if then != nil {
			then()
		}
	}
}
