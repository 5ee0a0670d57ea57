package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"
)

// atOnce is how many mutants are checked at a time: their tests wait as much as they work.
const atOnce = 3

// A checker runs the tests of mutants.
type checker struct {
	root    string // of the module
	dir     string // for the copies of files
	timeout time.Duration
	passed  bool         // all tests have, on the code as it is
	used    atomic.Int64 // of processors, so far, in nanoseconds
}

// A result is what the tests made of a mutant, or of the code as it is.
type result struct {
	outcome outcome
	failed  []string // the tests that failed, in the order they did
	output  string
	took    time.Duration
}

// checkAll checks mutants and prints the table. First their tests have to pass without a
// bug: else their failing proves nothing.
func (c *checker) checkAll(ctx context.Context, mutants []mutant, out io.Writer) error {
	began := time.Now()
	if !c.passed {
		if err := c.controls(ctx, mutants, out); err != nil {
			return err
		}
	}
	t := newTable(out, mutants)
	var survivors []string
	for i, get := range c.start(ctx, mutants) {
		r, err := get()
		if err != nil {
			return err
		}
		t.row(mutants[i], r)
		if r.outcome != caught {
			survivors = append(survivors, mutants[i].name)
		}
	}
	fmt.Fprintf(out, "\n%d of %d mutants are caught, in %s, with %s of processor time\n",
		len(mutants)-len(survivors), len(mutants), time.Since(began).Round(time.Second), time.Duration(c.used.Load()).Round(time.Second))
	if len(survivors) > 0 {
		return fmt.Errorf("%d mutants are not caught, a test is missing for each: %s", len(survivors), strings.Join(survivors, ", "))
	}
	return nil
}

// start checks mutants, some at a time, and returns what waits for each.
func (c *checker) start(ctx context.Context, mutants []mutant) (get []func() (result, error)) {
	places := make(chan struct{}, atOnce)
	for _, m := range mutants {
		ended := make(chan struct{})
		var r result
		var err error
		go func() {
			defer close(ended)
			places <- struct{}{}
			defer func() { <-places }()
			r, err = c.check(ctx, m)
		}()
		get = append(get, func() (result, error) { <-ended; return r, err })
	}
	return get
}

// controls runs the tests of mutants without any of them, each package once; once more
// what fails, as some tests are bounded in time and the machine may be busy.
func (c *checker) controls(ctx context.Context, mutants []mutant, out io.Writer) error {
	type target struct{ pkg, tags string }
	of := map[target][]mutant{}
	var order []target
	for _, m := range mutants {
		to := target{m.pkg, m.tags}
		if of[to] == nil {
			order = append(order, to)
		}
		of[to] = append(of[to], m)
	}
	for _, to := range order {
		r, err := c.test(ctx, mutant{pkg: to.pkg, tags: to.tags}, pattern(of[to]), "")
		if err == nil && r.outcome != passed {
			r, err = c.test(ctx, mutant{pkg: to.pkg, tags: to.tags}, pattern(of[to]), "")
		}
		if err != nil {
			return err
		}
		if r.outcome != passed {
			return fmt.Errorf("without a mutant, the tests of %s have to pass: %s %s\n%s", to.pkg, r.outcome, strings.Join(r.failed, " "), r.output)
		}
		fmt.Fprintf(out, "without a mutant: ok %s (%.1f s)\n", to.pkg, r.took.Seconds())
	}
	return nil
}

// check runs the tests of one mutant; once more where it survives, as some bugs show by the order
// of things, which a busy machine changes.
func (c *checker) check(ctx context.Context, m mutant) (result, error) {
	source, err := m.source(c.root)
	if err != nil {
		return result{}, err
	}
	overlay, err := c.overlay(m, source)
	if err != nil {
		return result{}, err
	}
	r, err := c.test(ctx, m, pattern([]mutant{m}), overlay)
	if err == nil && r.outcome == passed {
		r, err = c.test(ctx, m, pattern([]mutant{m}), overlay)
	}
	return r, err
}

// overlay writes the file that has the go command read source in the place of the
// mutant's file.
func (c *checker) overlay(m mutant, source string) (string, error) {
	file, err := filepath.Abs(filepath.Join(c.root, m.file))
	if err != nil {
		return "", err
	}
	changed := filepath.Join(c.dir, m.name+".go")
	data, err := json.Marshal(map[string]map[string]string{"Replace": {file: changed}})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(c.dir, m.name+".json")
	return overlay, errors.Join(os.WriteFile(changed, []byte(source), 0o600), os.WriteFile(overlay, data, 0o600))
}

// test runs tests with an overlay; without one on the code as it is. The overlay is in
// GOFLAGS, so that it holds for hosts that tests build as well.
func (c *checker) test(ctx context.Context, m mutant, tests, overlay string) (result, error) {
	args := []string{
		"test", "-json", "-vet=off", "-count=1", "-failfast",
		"-timeout=" + cmp.Or(m.lasts, c.timeout).String(), "-tags=long," + m.tags, "-run=" + tests, m.pkg,
	}
	cmd := exec.CommandContext(ctx, "go", append(args, m.args...)...)
	cmd.Dir = c.root
	cmd.Env = os.Environ()
	if overlay != "" {
		cmd.Env = append(cmd.Env, strings.TrimSpace("GOFLAGS="+os.Getenv("GOFLAGS")+" -overlay="+overlay))
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	began := time.Now()
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		return result{}, fmt.Errorf("run go test %s: %w", m.pkg, errors.Join(err, ctx.Err()))
	}
	r := judge(&out)
	r.took = time.Since(began)
	c.used.Add(int64(cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()))
	return r, nil
}
