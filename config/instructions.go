package config

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"unicode/utf8"

	"agenthost/internal/yamldoc"
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
		text, err := yamldoc.ReadBelow(k.folder, path, maxInstructions)
		size += len(text)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			k.Fault(p, "%s is not there; want a file below the folder of the configuration", k.Quote(p))
		case errors.Is(err, yamldoc.ErrTooLarge) || size > maxInstructions:
			k.Fault(p, "%s: more than %d bytes with the files before it; want less, for every call of the model sends them", k.Quote(p), maxInstructions)
			size = 0 // it is said once; the others may be missing
		case err != nil:
			k.Fault(p, "%s: %s; want a file below the folder of the configuration", k.Quote(p), yamldoc.WhyUnreadable(err))
		case !utf8.ValidString(text):
			k.Fault(p, "%s: not UTF-8", k.Quote(p))
		default:
			parts = append(parts, strings.TrimSpace(yamldoc.PlainText(text)))
		}
	}
	if len(a.InstructionFiles) > 0 {
		a.Instructions = strings.TrimSpace(strings.Join(parts, "\n\n"))
	}
}
