package mcp

import (
	"errors"
	"io"
	"time"

	"agenthost/internal/childprocess"
	"agenthost/tools"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rs/zerolog"
)

const (
	// What a server gets to end when its input has ended, and when it was told to.
	inputGrace  = 2 * time.Second
	signalGrace = 500 * time.Millisecond
	// drainLimit is how long what a dead server wrote is still read.
	drainLimit = time.Second
)

// stallLimit is how long a server may take no input before it is given up; tests set it.
var stallLimit = 5 * time.Second

// overStdio starts a server that speaks on its standard input and output.
func overStdio(cfg tools.MCPConfig, log zerolog.Logger, heard func(junk string)) (carrier, error) {
	if len(cfg.Command) == 0 {
		return carrier{}, errors.New("neither command nor url")
	}
	p, err := childprocess.Start(childprocess.Config{
		Command: cfg.Command, Env: cfg.Env, Drain: drainLimit,
		Says: func(line string) { log.Debug().Str("line", line).Msg("MCP server says") },
	})
	if err != nil {
		return carrier{}, err
	}
	junk := &junkLog{log: log, heard: heard}
	said := struct {
		io.Reader
		io.Closer
	}{newLineFilter(p.Out, "", junk.leaveOut), p.Out}
	transport := &sdk.IOTransport{Reader: said, Writer: stallingWriter{p.In}, MaxLineLength: longestMessage}
	return carrier{
		transport: notingTransport{transport}, junk: junk.last,
		why: func() error {
			if !p.EndsWithin(drainLimit) {
				return nil
			}
			return p.Ended("server")
		},
		stop: func() {
			_ = p.In.Close()
			p.Stop(inputGrace, signalGrace)
			<-p.Done()
			p.Close()
		},
	}, nil
}
