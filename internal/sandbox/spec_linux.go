package sandbox

import (
	"fmt"
	"strconv"
)

// A spec is what the helper gets by its arguments.
type spec struct {
	dir, temp string
	seconds   uint64 // of processor time, for each process
	fileSize  uint64 // the most that a file may have
	level     Level
	network   bool
	text      string
}

func (s spec) arguments() []string {
	return []string{s.dir, s.temp, strconv.FormatUint(s.seconds, 10), string(s.level), strconv.FormatBool(s.network), strconv.FormatUint(s.fileSize, 10), s.text}
}

func parseSpec(args []string) (s spec, err error) {
	if len(args) != 7 {
		return s, fmt.Errorf("%d arguments, want 7", len(args))
	}
	s = spec{dir: args[0], temp: args[1], level: Level(args[3]), text: args[6]}
	if s.seconds, err = strconv.ParseUint(args[2], 10, 32); err != nil {
		return s, fmt.Errorf("seconds of processor time: %w", err)
	}
	if s.network, err = strconv.ParseBool(args[4]); err != nil {
		return s, fmt.Errorf("network: %w", err)
	}
	if s.fileSize, err = strconv.ParseUint(args[5], 10, 63); err != nil {
		return s, fmt.Errorf("size of a file: %w", err)
	}
	switch s.level {
	case levelRoot, levelUser, levelFiles, levelNone:
		return s, nil
	}
	return s, fmt.Errorf("no such level: %q", s.level)
}
