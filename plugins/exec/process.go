package exec

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"time"

	"agenthost/internal/childprocess"
	"agenthost/plugins/settings"

	"github.com/rs/zerolog"
)

const (
	// longestLine of the program's output is taken: no NATS message is longer.
	longestLine = 65 << 20
	// longestShown is how much of a line that is no message is logged.
	longestShown = 2000
	// drainFor is how long what a dead program wrote is still read.
	drainFor = 2 * time.Second
)

// A process is one run of the program.
type process struct {
	*childprocess.Process
	read *bufio.Reader
}

func startProcess(cfg settings.Exec, log zerolog.Logger) (*process, error) {
	p, err := childprocess.Start(childprocess.Config{
		Command: cfg.Command, Env: cfg.Env, Drain: drainFor,
		Says: func(line string) { log.Info().Str("line", line).Msg("the program says") },
	})
	if err != nil {
		return nil, err
	}
	return &process{p, bufio.NewReaderSize(p.Out, 64<<10)}, nil
}

// readLine reads the next line. One that is too long is cut: it is no message
// then.
func (p *process) readLine() ([]byte, error) {
	var text []byte
	for {
		part, err := p.read.ReadSlice('\n')
		if len(text) < longestLine {
			text = append(text, part...)
		}
		switch {
		case err == nil:
			return text, nil
		case errors.Is(err, io.EOF) && len(text) > 0:
			return text, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

func printable(text []byte) string {
	return strings.ToValidUTF8(strings.TrimSpace(string(text[:min(len(text), longestShown)])), "\uFFFD")
}
