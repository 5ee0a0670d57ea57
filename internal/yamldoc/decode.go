package yamldoc

import (
	"encoding"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// DurationType is that of the values that are written as 30s or 10m.
var DurationType = reflect.TypeFor[time.Duration]()

// A Decoder fills a Go value from a tree. Unlike the decoder of the YAML library
// it goes on after a fault, and it remembers where each value came from, by
// paths such as agents[0].session.ttl.
type Decoder struct {
	*Problems
	values map[string]*Node
	keys   map[string]*Node
	failed map[string]bool // reported already: nothing that follows from it is
}

// NewDecoder makes a Decoder that reports to ps.
func NewDecoder(ps *Problems) *Decoder {
	return &Decoder{Problems: ps, values: map[string]*Node{}, keys: map[string]*Node{}, failed: map[string]bool{}}
}

// Decode sets v, which is addressable, to n. Null leaves it zero.
func (d *Decoder) Decode(n *Node, v reflect.Value, path string) {
	if n.filled && n.style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 && !textual(v.Type()) {
		n = n.unquoted() // the quotes are for the braces
	}
	d.values[path] = n
	if n.Broken {
		d.failed[path] = true
		return
	}
	if n.Null() {
		return
	}
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	if u, ok := reflect.TypeAssert[encoding.TextUnmarshaler](v.Addr()); ok && n.Kind == Scalar {
		if err := u.UnmarshalText([]byte(n.Value)); err != nil {
			d.fail(n, path, "%v", err)
		}
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		d.structure(n, v, path)
	case reflect.Map:
		d.table(n, v, path)
	case reflect.Slice:
		d.list(n, v, path)
	case reflect.Interface:
		if value := d.free(n, path); value != nil {
			v.Set(reflect.ValueOf(value))
		}
	default:
		d.leaf(n, v, path)
	}
}

// textual reports whether a value of type t may be text.
func textual(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Bool, reflect.Int, reflect.Int64, reflect.Float64:
		return reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
	}
	return true
}

func (d *Decoder) fail(n *Node, path, format string, args ...any) {
	d.failed[path] = true
	d.Add(n.At, format, args...)
}

func (d *Decoder) structure(n *Node, v reflect.Value, path string) {
	if list := listOf(v, ""); list != nil && n.Kind == Sequence { // it stands for the whole
		d.list(n, reflect.ValueOf(list).Elem(), path)
		return
	}
	if n.Kind != Mapping {
		d.fail(n, path, "%swant keys and values, got %s", d.named(path), n.Describe())
		return
	}
	fields, rest := fieldsOf(v.Type()), restOf(v)
	all := rest.IsValid() && rest.IsNil() // a map that was made before takes the keys that it has
	for _, f := range n.Fields {
		name := f.Key.Value
		at := Join(path, name)
		index, known := fields[name]
		if !known && (all || has(rest, name)) {
			d.entry(f, rest, at)
			continue
		}
		if !known {
			d.fail(f.Key, at, "unknown key %q; %s", name, Suggest(name, slices.Concat(slices.Sorted(maps.Keys(fields)), namesIn(rest))))
			continue
		}
		d.keys[at] = f.Key
		if list := listOf(v, name); list != nil && f.Value.Kind == Sequence {
			d.Decode(f.Value, reflect.ValueOf(list).Elem(), at)
			continue
		}
		d.Decode(f.Value, v.FieldByIndex(index), at)
	}
}

// listOf is where a list goes that stands in the place of a single value, or of the
// struct itself where key is empty; nil: the key takes none.
func listOf(v reflect.Value, key string) *[]string {
	if l, ok := reflect.TypeAssert[interface{ List(key string) *[]string }](v.Addr()); ok {
		return l.List(key)
	}
	return nil
}

func (d *Decoder) table(n *Node, v reflect.Value, path string) {
	if n.Kind != Mapping {
		d.fail(n, path, "%swant names, each with its value, got %s", d.named(path), n.Describe())
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	for _, f := range n.Fields {
		d.entry(f, v, Join(path, f.Key.Value))
	}
}

// entry puts one field into a map.
func (d *Decoder) entry(f Field, into reflect.Value, at string) {
	d.keys[at] = f.Key
	value := reflect.New(into.Type().Elem()).Elem()
	d.Decode(f.Value, value, at)
	if into.IsNil() {
		into.Set(reflect.MakeMap(into.Type()))
	}
	into.SetMapIndex(reflect.ValueOf(f.Key.Value), value)
}

// restOf is the map of a struct that takes keys beside its fields.
func restOf(v reflect.Value) reflect.Value {
	for i := range v.NumField() {
		_, options, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ",")
		if v.Field(i).Kind() == reflect.Map && strings.Contains(options, "inline") {
			return v.Field(i)
		}
	}
	return reflect.Value{}
}

func (d *Decoder) list(n *Node, v reflect.Value, path string) {
	if n.Kind != Sequence {
		d.fail(n, path, "%swant a list, got %s", d.named(path), n.Describe())
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.Items), len(n.Items)))
	for i, item := range n.Items {
		at := fmt.Sprintf("%s[%d]", path, i)
		if item.Null() {
			d.fail(item, at, "%san entry of the list is empty; fill it in, or take it out", d.named(path))
			continue
		}
		d.Decode(item, v.Index(i), at)
	}
}

// free decodes what has no type here, as JSON would have it.
func (d *Decoder) free(n *Node, path string) any {
	switch n.Kind {
	case Mapping:
		m := make(map[string]any, len(n.Fields))
		for _, f := range n.Fields {
			at := Join(path, f.Key.Value)
			d.keys[at], d.values[at] = f.Key, f.Value
			m[f.Key.Value] = d.free(f.Value, at)
		}
		return m
	case Sequence:
		s := make([]any, len(n.Items))
		for i, item := range n.Items {
			s[i] = d.free(item, fmt.Sprintf("%s[%d]", path, i))
		}
		return s
	}
	var value any
	if !n.Broken && n.yaml().Decode(&value) != nil {
		d.fail(n, path, "%sa value that is not of the type of its tag", d.named(path))
	}
	if _, isTime := value.(time.Time); isTime {
		return n.Value // JSON has no dates: it stays as it is written
	}
	return value
}

// Join returns the path of a field.
func Join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// Key returns the key that a path below the root ends in.
func (d *Decoder) Key(path string) string {
	for d.keys[path] == nil {
		path = Parent(path) // an entry of a list: the key of the list
	}
	return d.keys[path].Value
}

// named returns the key that a path ends in as the start of a message.
func (d *Decoder) named(path string) string {
	return d.Key(path) + ": "
}

func has(table reflect.Value, key string) bool {
	return table.IsValid() && table.MapIndex(reflect.ValueOf(key)).IsValid()
}

func namesIn(rest reflect.Value) []string {
	if !rest.IsValid() {
		return nil
	}
	var names []string
	for _, key := range rest.MapKeys() {
		names = append(names, key.String())
	}
	slices.Sort(names)
	return names
}

// fieldsOf returns where the fields of a struct are, by their keys in YAML.
func fieldsOf(t reflect.Type) map[string][]int {
	fields := make(map[string][]int)
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if name != "" && name != "-" && !strings.Contains(options, "inline") {
			fields[name] = f.Index
		}
	}
	return fields
}
