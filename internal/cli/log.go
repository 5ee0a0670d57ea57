package cli

import (
	"io"
	"time"

	"agenthost/internal/terminal"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
)

// LogFlags say what is logged and how.
type LogFlags struct {
	Level, Format Choice
	Aside         bool // lines come between those of a chat
}

// NewLogFlags are those of a command that logs from a level on.
func NewLogFlags(level string) *LogFlags {
	return &LogFlags{
		Level:  Choice{level, []string{"trace", "debug", "info", "warn", "error"}},
		Format: Choice{"auto", []string{"auto", "text", "json"}},
	}
}

// Register gives cmd the flags.
func (f *LogFlags) Register(cmd *cobra.Command) {
	cmd.Flags().Var(&f.Level, "log-level", "what to log at least")
	cmd.Flags().Var(&f.Format, "log-format", "auto is text on a terminal, else json")
}

// Logger logs to w.
func (f *LogFlags) Logger(w io.Writer, getenv func(string) string) zerolog.Logger {
	onTerminal := IsTerminal(w)
	if f.Format.Value == "text" || f.Format.Value == "auto" && onTerminal {
		if f.Aside && onTerminal {
			w = aside{w}
		}
		w = zerolog.ConsoleWriter{
			Out: w, TimeFormat: time.TimeOnly, NoColor: !onTerminal || getenv("NO_COLOR") != "",
		}
	}
	level, err := zerolog.ParseLevel(f.Level.Value)
	if err != nil {
		panic(err) // the flag takes no other words
	}
	zerolog.TimeFieldFormat = "2006-01-02T15:04:05.000Z07:00" // RFC 3339, to the millisecond
	return zerolog.New(w).Level(level).With().Timestamp().Logger()
}

// aside writes over the line that a prompt is on.
type aside struct{ w io.Writer }

// Write writes one line of the log.
func (a aside) Write(p []byte) (int, error) {
	prompt := ""
	if e, ok := a.w.(*terminal.Editor); ok { // what is on the line comes back below
		prompt = e.Tail()
	}
	if _, err := io.WriteString(a.w, terminal.ClearLine+string(p)+prompt); err != nil {
		return 0, err
	}
	return len(p), nil
}
