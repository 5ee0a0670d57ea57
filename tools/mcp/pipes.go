package mcp

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rs/zerolog"
)

// A stallingWriter fails when the server takes nothing for stallLimit: the
// library does not end a write before its time.
type stallingWriter struct{ *os.File }

func (w stallingWriter) Write(data []byte) (int, error) {
	const chunk = 64 << 10
	written := 0
	for part := range slices.Chunk(data, chunk) {
		if err := w.SetWriteDeadline(time.Now().Add(stallLimit)); err != nil {
			return written, err
		}
		n, err := w.File.Write(part)
		written += n
		if err != nil {
			return written, err
		}
	}
	return written, nil
}

// longestLine is how much of what a server says is logged.
const longestLine = 4 << 10

// A junkLog logs what a server writes on its standard output that is no message, and
// remembers the last of it.
type junkLog struct {
	log   zerolog.Logger
	heard func(junk string) // gets what last is by then

	mu   sync.Mutex
	text string
}

func (s *junkLog) leaveOut(words []byte) {
	text := shown(words)
	s.mu.Lock()
	s.text = text
	s.mu.Unlock()
	s.heard(s.last())
	s.log.Warn().Str("line", text).Msg("read standard output of MCP server: not a JSON-RPC message, or one that answers no request; left out")
}

// shown is what of a text of a server is logged.
func shown(text []byte) string {
	return strings.ToValidUTF8(string(text[:min(len(text), longestLine)]), "\uFFFD")
}

// last is the last line that was left out, or its beginning.
func (s *junkLog) last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.ToValidUTF8(s.text[:min(len(s.text), 200)], "")
}

// withJunk is err of a program that may be no MCP server at all, with what it says.
func withJunk(err error, junk string) error {
	if junk == "" {
		return err
	}
	return fmt.Errorf("%w; on its standard output, where only JSON-RPC messages belong, it says: %s", err, junk)
}

// A notingTransport notes with a call that its server may have taken it.
type notingTransport struct{ sdk.Transport }

func (t notingTransport) Connect(ctx context.Context) (sdk.Connection, error) {
	conn, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return notingConnection{conn}, nil
}

type notingConnection struct{ sdk.Connection }

func (c notingConnection) Write(ctx context.Context, msg jsonrpc.Message) error {
	a, asks := ctx.Value(askedKey{}).(*asked)
	if req, ok := msg.(*jsonrpc.Request); ok && asks && req.IsCall() {
		a.taken.Store(true)
	}
	return c.Connection.Write(ctx, msg)
}
