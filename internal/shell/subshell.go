package shell

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// shellLongs are the long options of shells that do not name a file to run.
var shellLongs = []string{"--login", "--noprofile", "--norc", "--posix", "--restricted", "--verbose"}

// shell takes in the command line that a shell gets by -c. One that gets a
// file, or reads its input, runs what the line does not show.
func (r *reading) shell(args []arg) {
	rest, line, err := shellOptions(args)
	switch {
	case err != nil:
		r.fault("shell: %w", err)
	case !line || len(rest) == 0:
		r.fault("a shell runs what the line does not show")
	case !rest[0].fixed:
		r.fault("a command line is known only when it runs")
	default:
		r.script(rest[0].text)
	}
}

// shellOptions returns what follows the options of a shell; line tells that -c
// was among them.
func shellOptions(args []arg) (rest []arg, line bool, err error) {
	for len(args) > 0 {
		if err := args[0].hidden(); err != nil {
			return nil, false, err
		}
		text := args[0].text
		args = args[1:]
		switch {
		case text == "--":
			return args, line, nil
		case slices.Contains(shellLongs, text):
			continue
		case len(text) < 2 || text[0] != '-' && text[0] != '+':
			return append([]arg{{text, true}}, args...), line, nil
		}
		values := strings.Count(text, "o") + strings.Count(text, "O")
		if strings.Trim(text[1:], "abcefhiklmnpuvxBCEHPToO") != "" || values > len(args) {
			return nil, false, unknown(text)
		}
		if slices.ContainsFunc(args[:values], func(a arg) bool { return !a.fixed }) {
			return nil, false, errHidden
		}
		line = line || text[0] == '-' && strings.Contains(text, "c")
		args = args[values:]
	}
	return nil, line, nil
}

var errHidden = errors.New("a word before the command is known only when it runs")

// hidden is an error when only the run tells what the word is.
func (a arg) hidden() error {
	if !a.fixed {
		return errHidden
	}
	return nil
}

// unknown is about an option: what follows it is not known then either.
func unknown(option string) error { return fmt.Errorf("option %q is not known here", option) }
