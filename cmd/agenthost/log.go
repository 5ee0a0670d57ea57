package main

import (
	"io"
	"time"

	"agenthost/internal/terminal"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
)

// logFlags say what is logged and how.
type logFlags struct {
	level, format choice
	aside         bool // lines come between those of a chat
}

func newLogFlags(level string) *logFlags {
	return &logFlags{
		level:  choice{level, []string{"trace", "debug", "info", "warn", "error"}},
		format: choice{"auto", []string{"auto", "text", "json"}},
	}
}

func (f *logFlags) register(cmd *cobra.Command) {
	cmd.Flags().Var(&f.level, "log-level", "what to log at least")
	cmd.Flags().Var(&f.format, "log-format", "auto is text on a terminal, else json")
}

// logger logs to w.
func (f *logFlags) logger(w io.Writer, getenv func(string) string) zerolog.Logger {
	onTerminal := isTerminal(w)
	if f.format.value == "text" || f.format.value == "auto" && onTerminal {
		if f.aside && onTerminal {
			w = aside{w}
		}
		w = zerolog.ConsoleWriter{
			Out: w, TimeFormat: time.TimeOnly, NoColor: !onTerminal || getenv("NO_COLOR") != "",
		}
	}
	level, err := zerolog.ParseLevel(f.level.value)
	if err != nil {
		panic(err) // the flag takes no other words
	}
	zerolog.TimeFieldFormat = "2006-01-02T15:04:05.000Z07:00" // RFC 3339, to the millisecond
	return zerolog.New(w).Level(level).With().Timestamp().Logger()
}

// clearLine takes what is on the line of the cursor away.
const clearLine = "\r\x1b[K"

// aside writes over the line that a prompt is on.
type aside struct{ w io.Writer }

// Write writes one line of the log.
func (a aside) Write(p []byte) (int, error) {
	prompt := ""
	if e, ok := a.w.(*terminal.Editor); ok { // what is on the line comes back below
		prompt = e.Tail()
	}
	if _, err := io.WriteString(a.w, clearLine+string(p)+prompt); err != nil {
		return 0, err
	}
	return len(p), nil
}
