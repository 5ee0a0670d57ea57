package yamldoc

import (
	"iter"
	"maps"
	"strings"
)

// NodeAt returns the value at path, or the nearest one around it.
func (d *Decoder) NodeAt(path string) *Node {
	for d.values[path] == nil && path != "" {
		path = Parent(path)
	}
	return d.values[path]
}

// Parent is the path of what holds the value at path.
func Parent(path string) string {
	return path[:max(0, strings.LastIndexAny(path, ".["))]
}

// Values are all values by their paths.
func (d *Decoder) Values() iter.Seq2[string, *Node] { return maps.All(d.values) }

// KeyNode is the key that path ends in, nil when the file does not have it.
func (d *Decoder) KeyNode(path string) *Node { return d.keys[path] }

// Failed reports whether there is a problem with the value at path itself.
func (d *Decoder) Failed(path string) bool { return d.failed[path] }

// Set reports whether the file gives a value for path.
func (d *Decoder) Set(path string) bool {
	n := d.values[path]
	return n != nil && !n.Null()
}

// Quote returns the value at path as it is written.
func (d *Decoder) Quote(path string) string { return d.NodeAt(path).Quote() }

// Fault reports a problem at path, or at what holds it when the file does not
// have it. What follows from a problem already reported is not one.
func (d *Decoder) Fault(path, format string, args ...any) {
	for p := path; ; p = Parent(p) {
		if d.Failed(p) {
			return
		}
		if p == "" {
			break
		}
	}
	d.Add(d.NodeAt(path).At, format, args...)
}

// FaultKey reports a problem of the key that path ends in.
func (d *Decoder) FaultKey(path, format string, args ...any) {
	if !d.Failed(path) {
		d.Add(d.keys[path].At, format, args...)
	}
}
