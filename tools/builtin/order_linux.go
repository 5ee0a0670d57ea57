package builtin

import (
	"fmt"
	"strconv"
)

// An order is what the helper is told by its arguments.
type order struct {
	dir, temp string
	seconds   uint64 // of processor time, for each process
	fileSize  uint64 // the most that a file may have
	level     level
	network   bool
	text      string
}

func (o order) arguments() []string {
	return []string{o.dir, o.temp, strconv.FormatUint(o.seconds, 10), string(o.level), strconv.FormatBool(o.network), strconv.FormatUint(o.fileSize, 10), o.text}
}

func parseOrder(args []string) (o order, err error) {
	if len(args) != 7 {
		return o, fmt.Errorf("%d arguments, want 7", len(args))
	}
	o = order{dir: args[0], temp: args[1], level: level(args[3]), text: args[6]}
	if o.seconds, err = strconv.ParseUint(args[2], 10, 32); err != nil {
		return o, fmt.Errorf("seconds of processor time: %w", err)
	}
	if o.network, err = strconv.ParseBool(args[4]); err != nil {
		return o, fmt.Errorf("network: %w", err)
	}
	if o.fileSize, err = strconv.ParseUint(args[5], 10, 63); err != nil {
		return o, fmt.Errorf("size of a file: %w", err)
	}
	switch o.level {
	case levelRoot, levelUser, levelFiles, levelNone:
		return o, nil
	}
	return o, fmt.Errorf("no such level: %q", o.level)
}
