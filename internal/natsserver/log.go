package natsserver

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/rs/zerolog"
)

// A serverLog passes the log of the embedded server on to ours, one level
// lower than the server has it: its notices are details of a host. A fatal
// line is kept, as that is how the server reports why it does not start.
type serverLog struct {
	log zerolog.Logger

	mu    sync.Mutex
	fatal string
}

// Noticef logs at debug level.
func (l *serverLog) Noticef(format string, v ...any) { l.log.Debug().Msgf(format, v...) }

// Warnf logs at warn level, and what is normal after a crash at info level.
func (l *serverLog) Warnf(format string, v ...any) {
	line := fmt.Sprintf(format, v...)
	level := zerolog.WarnLevel
	if slices.ContainsFunc(afterACrash, func(part string) bool { return strings.Contains(line, part) }) {
		level = zerolog.InfoLevel
	}
	l.log.WithLevel(level).Msg(line)
}

// afterACrash is in what a server says whose last one was killed: it reads again
// what was written after the last of its indexes.
var afterACrash = []string{
	"state is outdated; attempting to recover", "Stream state outdated", "Stream state detected prior state",
}

// Errorf logs at error level.
func (l *serverLog) Errorf(format string, v ...any) { l.log.Error().Msgf(format, v...) }

// Debugf logs at trace level.
func (l *serverLog) Debugf(format string, v ...any) { l.log.Trace().Msgf(format, v...) }

// Tracef logs at trace level.
func (l *serverLog) Tracef(format string, v ...any) { l.log.Trace().Msgf(format, v...) }

// Fatalf keeps the line and lets the process live: the code that started the server
// asks for it.
func (l *serverLog) Fatalf(format string, v ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fatal == "" {
		l.fatal = strings.TrimSpace(fmt.Sprintf(format, v...))
	}
}

func (l *serverLog) fatalLine() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fatal
}
