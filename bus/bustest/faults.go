package bustest

import "fmt"

// faults is a log of a NATS server that keeps its errors: one that cannot listen says so there
// alone.
type faults struct{ LogBuffer }

func (f *faults) Errorf(format string, args ...any) { _, _ = fmt.Fprintf(f, format+"\n", args...) }
func (f *faults) Fatalf(format string, args ...any) { f.Errorf(format, args...) }

func (f *faults) Noticef(string, ...any) {}
func (f *faults) Warnf(string, ...any)   {}
func (f *faults) Debugf(string, ...any)  {}
func (f *faults) Tracef(string, ...any)  {}
