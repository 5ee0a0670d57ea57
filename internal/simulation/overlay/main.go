// Overlay writes copies of files of the Go runtime in which chance follows from a seed, and
// prints the -overlay for the go command that has them read in place of the files: the
// order in which a select looks at its cases, that of timers of the same time in a bubble
// of testing/synctest, and what maps and math/rand draw.
//
//	go test -tags ordered -overlay "$(go run ./internal/simulation/overlay)" ./internal/simulation
//
// The files are in the user's cache, under a name that follows from their content, so that
// what was built with them is built once.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"agenthost/internal/overlay"
)

// An edit is a text of a file of the runtime that occurs there once, and what takes its
// place.
type edit struct{ file, old, new string }

var edits = []edit{
	{"select.go", "j := cheaprandn(uint32(norder + 1))", "j := simulatedChanceBelow(uint32(norder + 1))"},
	{"time.go", "t.rand = cheaprand()", "t.rand = uint32(simulatedNext(0))"},
	{"rand.go", "func rand() uint64 {\n", "func rand() uint64 {\n\tif SimulatedChance[1] != 0 {\n\t\treturn simulatedNext(1)\n\t}\n"},
	{"rand.go", "\tglobalRand.state.Init(*seed)\n", "\tclear(seed[:])\n\tglobalRand.state.Init(*seed)\n"}, // hashes of maps
	{"rand.go", "// mrandinit initializes", additions + "// mrandinit initializes"},
}

const additions = `// SimulatedChance is where chance is, once it was given a seed: of selects and timers, and of the rest.
//
//go:linkname SimulatedChance
var SimulatedChance [2]uint64

//go:nosplit
func simulatedNext(i int) uint64 {
	if SimulatedChance[i] == 0 {
		return uint64(cheaprand())
	}
	SimulatedChance[i] += 0xa0761d6478bd642f
	hi, lo := math.Mul64(SimulatedChance[i], SimulatedChance[i]^0xe7037ed1a0b428db)
	return hi ^ lo
}

func simulatedChanceBelow(n uint32) uint32 {
	return uint32((uint64(uint32(simulatedNext(0))) * uint64(n)) >> 32)
}

`

func main() {
	path, err := write()
	if err != nil {
		fmt.Fprintln(os.Stderr, "overlay:", err)
		os.Exit(1)
	}
	fmt.Println(path)
}

func write() (string, error) {
	from, err := overlay.Source(context.Background(), "runtime")
	if err != nil {
		return "", err
	}
	texts := map[string]string{}
	for _, e := range edits {
		file := filepath.Join(from, e.file)
		if texts[file] == "" {
			data, err := os.ReadFile(file)
			if err != nil {
				return "", err
			}
			texts[file] = string(data)
		}
		if n := strings.Count(texts[file], e.old); n != 1 {
			return "", fmt.Errorf("%s of this Go has the text %q %d times, want once: fit the edit to it", e.file, e.old, n)
		}
		texts[file] = strings.Replace(texts[file], e.old, e.new, 1)
	}
	return overlay.Write("agenthost-simulation", texts)
}
