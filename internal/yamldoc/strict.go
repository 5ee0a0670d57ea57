package yamldoc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"gopkg.in/yaml.v3"
)

// Raw is a value as the library reads it, for types that read themselves.
type Raw = yaml.Node

// ErrDocuments tells that a file has more than the one document that is read.
var ErrDocuments = errors.New("more than one document")

// Strict decodes one document into v, in which an unknown key is an error. Errors
// name lines, and no types of Go.
func Strict(data []byte, v any) error {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(v); err != nil && !errors.Is(err, io.EOF) {
		return readable(err)
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return ErrDocuments
	}
	return nil
}

// readable is an error of the library without its header and the names of types.
func readable(err error) error {
	types, ok := errors.AsType[*yaml.TypeError](err)
	if !ok {
		return err
	}
	var errs []error
	for _, e := range types.Errors {
		what, _, _ := strings.Cut(e, " in type ")
		errs = append(errs, errors.New(what))
	}
	return errors.Join(errs...)
}

// Fault is what a type that reads itself has against n, for Strict to report.
func Fault(n *Raw, format string, args ...any) error {
	return &yaml.TypeError{Errors: []string{fmt.Sprintf("line %d: %s", n.Line, fmt.Sprintf(format, args...))}}
}
