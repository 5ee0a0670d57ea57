// Mutants checks the tests: it plants one bug at a time into a copy of a source file
// and runs the tests that have to catch it. No product file holds a bug or a switch for
// one: the copy takes the place of the file by the -overlay of the go command.
//
//	go run ./internal/mutants              # all of them: make mutants
//	go run ./internal/mutants -ci          # those of .ci/run, which has a half of them a day
//	go run ./internal/mutants -run spill   # those whose names match
//	go run ./internal/mutants -list
//
// It runs in the root of the module, and exits with 1 when a bug is not caught.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	pattern := flag.String("run", "", "only the mutants whose names match this regular expression")
	ci := flag.Bool("ci", false, "only the mutants that .ci/run checks, whose tests have passed there before")
	share := flag.String("share", "1/1", "of these a share: 2/3 is every third, from the second on")
	list := flag.Bool("list", false, "print the mutants and their tests; run nothing")
	timeout := flag.Duration("timeout", 3*time.Minute, "for the tests of one mutant")
	flag.Parse()
	match, err := regexp.Compile(*pattern)
	if err != nil {
		return fmt.Errorf("-run: %w", err)
	}
	first, step := 0, 0
	if _, err := fmt.Sscanf(*share, "%d/%d", &first, &step); err != nil || first < 1 || first > step {
		return fmt.Errorf("-share %s: want one such as 1/2", *share)
	}
	var chosen []mutant
	n := 0
	for _, m := range table() {
		if match.MatchString(m.name) && (m.ci || !*ci) {
			if n%step == first-1 {
				chosen = append(chosen, m)
			}
			n++
		}
	}
	switch {
	case len(chosen) == 0:
		return errors.New("no mutant has such a name; -list prints them")
	case *list:
		printMutants(os.Stdout, chosen)
		return nil
	}
	dir, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	c := checker{root: ".", dir: dir, timeout: *timeout, passed: *ci}
	return c.checkAll(ctx, chosen, os.Stdout)
}
