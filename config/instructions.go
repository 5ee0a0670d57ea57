package config

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"unicode/utf8"
)

// maxInstructions bounds the instruction files of an agent together: they are
// sent with every call of its model.
const maxInstructions = 64 << 10

// addInstructions puts what the instruction files say behind the instructions.
func (k *checker) addInstructions(at string, a *Agent) {
	parts := []string{a.Instructions}
	size := 0
	for i, path := range a.InstructionFiles {
		p := fmt.Sprintf("%s.instruction_files[%d]", at, i)
		text, err := readBelow(k.folder, path, maxInstructions)
		size += len(text)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			k.fault(p, "%s is not there; want a file below the folder of the configuration", k.quote(p))
		case errors.Is(err, errLarge) || size > maxInstructions:
			k.fault(p, "%s: more than %d bytes with the files before it; want less, for every call of the model sends them", k.quote(p), maxInstructions)
			return
		case err != nil:
			k.fault(p, "%s: %s; want a file below the folder of the configuration", k.quote(p), whyUnreadable(err))
		case !utf8.ValidString(text):
			k.fault(p, "%s: not UTF-8", k.quote(p))
		default:
			parts = append(parts, strings.TrimSpace(plainText(text)))
		}
	}
	if len(a.InstructionFiles) > 0 {
		a.Instructions = strings.TrimSpace(strings.Join(parts, "\n\n"))
	}
}
