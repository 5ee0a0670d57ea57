package cli

import (
	"io"
	"os"
	"sync"
)

// A result is standard output that is a file. Commands print as if nothing could go wrong with
// that; here it is noted when it does, as on a full disk.
type result struct {
	file io.Writer

	mu  sync.Mutex
	err error // the first
}

// resultIn is the result in stdout; nil where that is something else. On a terminal a person
// sees what is missing, and who ends a pipe wants no more.
func resultIn(stdout io.Writer) *result {
	f, ok := stdout.(*os.File)
	if !ok || IsTerminal(f) {
		return nil
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() && info.Mode()&os.ModeCharDevice == 0 {
		return nil
	}
	return &result{file: f}
}

func (r *result) Write(p []byte) (int, error) {
	n, err := r.file.Write(p)
	if err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.err == nil {
			r.err = err
		}
	}
	return n, err
}

// lost is why a part of the result is missing; nil: nothing is.
func (r *result) lost() error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}
