package discord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
	"golang.org/x/sync/errgroup"

	"agenthost/plugins"
)

// Operations of the gateway.
const (
	opDispatch       = 0
	opHeartbeat      = 1
	opIdentify       = 2
	opResume         = 6
	opReconnect      = 7
	opInvalidSession = 9
	opHello          = 10
	opHeartbeatACK   = 11
)

// intents: servers, messages in servers and in private, and what they say.
const intents = 1<<0 | 1<<9 | 1<<12 | 1<<15

// maxFrame is how large a frame of the gateway may be: a large server comes in one.
const maxFrame = 64 << 20

const (
	helloWithin = 30 * time.Second
	writeWithin = 10 * time.Second
	// pending is how many events wait while one is taken.
	pending = 1000
	// closeResumable ends a connection but not its session, as any code but 1000 and
	// 1001 does.
	closeResumable = 4000
)

type frame struct {
	Op   int             `json:"op"`
	Seq  int64           `json:"s,omitempty"`
	Type string          `json:"t,omitempty"`
	Data json.RawMessage `json:"d"`
}

var (
	errReconnect = errors.New("discord asks for a new connection")
	errSilent    = errors.New("discord gateway: no answer to a heartbeat")
)

// A connection is one to the gateway.
type connection struct {
	channel *Channel
	inbox   *plugins.Inbox
	ws      *websocket.Conn
	session *session
	events  chan frame

	writing sync.Mutex
	acked   atomic.Bool // the last heartbeat
}

// A connection that Discord has made again within againSoon is one too many after mostAgain.
const (
	againSoon = 10 * time.Second
	mostAgain = 3
)

// Run logs in and takes events until ctx ends or the connection is lost. Where Discord asks for
// a new connection on each at once, the next login comes after a pause.
func (c *Channel) Run(ctx context.Context, in *plugins.Inbox) error {
	if _, err := c.self(ctx); err != nil {
		return err
	}
	s, err := loadSession(ctx, in)
	if err != nil {
		return err
	}
	for soon := 0; ; {
		began := time.Now()
		err := c.connect(ctx, in, s)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !errors.Is(err, errReconnect) {
			return err
		}
		if time.Since(began) >= againSoon {
			soon = 0
			continue
		}
		if soon++; soon == mostAgain {
			return err
		}
	}
}

// connect serves one connection.
func (c *Channel) connect(ctx context.Context, in *plugins.Inbox, s *session) error {
	address, err := c.gateway(ctx, s)
	if err != nil {
		return err
	}
	ws, resp, err := websocket.DefaultDialer.DialContext(ctx, address+"/?v=10&encoding=json", nil)
	if err != nil {
		s.forgetAddress() // the one of a session may be gone
		return fmt.Errorf("discord gateway %s: %w", address, err)
	}
	_ = resp.Body.Close()
	ws.SetReadLimit(maxFrame)
	conn := &connection{channel: c, inbox: in, ws: ws, session: s, events: make(chan frame, pending)}
	stop := context.AfterFunc(ctx, func() { _ = ws.Close() })
	every, err := conn.hello()
	stop()
	if err != nil {
		s.forgetAddress()
		_ = ws.Close()
		return conn.verdict(err)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return conn.read(ctx) })
	group.Go(func() error { return conn.beat(ctx, every) })
	group.Go(func() error { return conn.handleAll(ctx) })
	group.Go(func() error {
		<-ctx.Done()
		end := websocket.FormatCloseMessage(closeResumable, "")
		_ = ws.WriteControl(websocket.CloseMessage, end, time.Now().Add(time.Second))
		return ws.Close() // ends read
	})
	return conn.verdict(group.Wait())
}

// gateway is where to connect: where the session is, or where Discord says.
func (c *Channel) gateway(ctx context.Context, s *session) (string, error) {
	if s.ID != "" && s.URL != "" {
		return s.URL, nil
	}
	var got struct {
		URL    string `json:"url"`
		Starts struct {
			Remaining  *int  `json:"remaining"`
			ResetAfter int64 `json:"reset_after"`
		} `json:"session_start_limit"`
	}
	if err := c.api.call(ctx, http.MethodGet, "/gateway/bot", nil, &got); err != nil {
		return "", err
	}
	if r := got.Starts.Remaining; r != nil && *r == 0 {
		after := time.Duration(got.Starts.ResetAfter) * time.Millisecond
		return "", &plugins.RateLimitError{After: after, Account: true, Err: errors.New("discord allows no more logins today")}
	}
	return got.URL, nil
}

// hello reads the first frame, and logs in or resumes.
func (c *connection) hello() (every time.Duration, err error) {
	_ = c.ws.SetReadDeadline(time.Now().Add(helloWithin))
	var first frame
	if err := c.ws.ReadJSON(&first); err != nil {
		return 0, err
	}
	_ = c.ws.SetReadDeadline(time.Time{})
	var hello struct {
		Interval int64 `json:"heartbeat_interval"`
	}
	if err := json.Unmarshal(first.Data, &hello); err != nil || first.Op != opHello || hello.Interval <= 0 {
		return 0, fmt.Errorf("discord gateway: it begins with operation %d, not with a hello", first.Op)
	}
	return time.Duration(hello.Interval) * time.Millisecond, c.logIn()
}

func (c *connection) logIn() error {
	token := c.channel.settings.Token
	if id, seq := c.session.resumable(); id != "" {
		return c.write(opResume, map[string]any{"token": token, "session_id": id, "seq": seq})
	}
	return c.write(opIdentify, map[string]any{
		"token": token, "intents": intents,
		"properties": map[string]any{"os": "linux", "browser": "agenthost", "device": "agenthost"},
	})
}

func (c *connection) write(op int, data any) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	_ = c.ws.SetWriteDeadline(time.Now().Add(writeWithin))
	return c.ws.WriteJSON(map[string]any{"op": op, "d": data})
}

// read reads frames and queues the events among them.
func (c *connection) read(ctx context.Context) error {
	for {
		var f frame
		if err := c.ws.ReadJSON(&f); err != nil {
			return err
		}
		switch f.Op {
		case opDispatch:
			select {
			case c.events <- f:
			case <-ctx.Done():
				return ctx.Err()
			}
		case opHeartbeat:
			if err := c.heartbeat(); err != nil {
				return err
			}
		case opHeartbeatACK:
			c.acked.Store(true)
		case opReconnect:
			return errReconnect
		case opInvalidSession:
			return c.invalid(ctx, string(f.Data) == "true")
		}
	}
}

// invalid waits a little, as Discord asks for it, before the next login.
func (c *connection) invalid(ctx context.Context, resumable bool) error {
	if !resumable {
		c.session.drop()
	}
	select {
	case <-time.After(time.Second + rand.N(4*time.Second)):
		return errReconnect
	case <-ctx.Done():
		return ctx.Err()
	}
}

// beat sends heartbeats. One that is not answered before the next ends the connection.
func (c *connection) beat(ctx context.Context, every time.Duration) error {
	c.acked.Store(true)
	next := time.NewTimer(rand.N(every))
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-next.C:
		}
		if !c.acked.Swap(false) {
			return errSilent
		}
		if err := c.heartbeat(); err != nil {
			return err
		}
		next.Reset(every)
	}
}

// heartbeat says how far it has read: what is taken, so that Discord keeps the rest.
func (c *connection) heartbeat() error {
	_, seq := c.session.resumable()
	if seq == 0 {
		return c.write(opHeartbeat, nil)
	}
	return c.write(opHeartbeat, seq)
}

// verdict says what the end of a connection means.
func (c *connection) verdict(err error) error {
	closed, ok := errors.AsType[*websocket.CloseError](err)
	if !ok {
		return err
	}
	switch closed.Code {
	case 4004:
		return badToken(closed)
	case 4013, 4014:
		return plugins.NoLogin(fmt.Errorf("the bot may not read what people write: switch on Message Content Intent in the developer portal (Bot, Privileged Gateway Intents): %w", closed))
	case 4010, 4011, 4012:
		return plugins.NoLogin(fmt.Errorf("discord does not let the bot in; one in more than 2,500 servers is not supported: %w", closed))
	case 4007, 4009:
		c.session.drop()
	}
	return fmt.Errorf("discord gateway: %w", closed)
}
