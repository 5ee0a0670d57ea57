package config

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

var durationType = reflect.TypeFor[time.Duration]()

// A decoder fills a Config from a tree. Unlike the decoder of the YAML library
// it goes on after a fault, and it remembers where each value came from, by
// paths such as agents[0].session.ttl.
type decoder struct {
	*problems
	values map[string]*node
	keys   map[string]*node
	failed map[string]bool // reported already: nothing that follows from it is
}

func newDecoder(ps *problems) *decoder {
	return &decoder{problems: ps, values: map[string]*node{}, keys: map[string]*node{}, failed: map[string]bool{}}
}

// decode sets v, which is addressable, to n. Null leaves it zero.
func (d *decoder) decode(n *node, v reflect.Value, path string) {
	if n.filled && n.style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 && !textual(v.Type()) {
		n = n.unquoted() // the quotes are for the braces
	}
	d.values[path] = n
	if n.broken {
		d.failed[path] = true
		return
	}
	if n.null() {
		return
	}
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	if u, ok := reflect.TypeAssert[encoding.TextUnmarshaler](v.Addr()); ok && n.kind == scalar {
		if err := u.UnmarshalText([]byte(n.value)); err != nil {
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

func (d *decoder) fail(n *node, path, format string, args ...any) {
	d.failed[path] = true
	d.add(n.at, format, args...)
}

func (d *decoder) structure(n *node, v reflect.Value, path string) {
	if n.kind != mapping {
		d.fail(n, path, "%swant keys and values, got %s", d.named(path), n.describe())
		return
	}
	fields := fieldsOf(v.Type())
	for _, f := range n.fields {
		name := f.key.value
		at := join(path, name)
		index, known := fields[name]
		if !known {
			d.fail(f.key, at, "unknown key %q; %s", name, suggest(name, slices.Sorted(maps.Keys(fields))))
			continue
		}
		d.keys[at] = f.key
		if list := listOf(v, name); list != nil && f.value.kind == sequence {
			d.decode(f.value, reflect.ValueOf(list).Elem(), at)
			continue
		}
		d.decode(f.value, v.FieldByIndex(index), at)
	}
}

// listOf is where a list goes that stands in the place of a single value; nil: the
// key takes none.
func listOf(v reflect.Value, key string) *[]string {
	if l, ok := reflect.TypeAssert[interface{ List(key string) *[]string }](v.Addr()); ok {
		return l.List(key)
	}
	return nil
}

func (d *decoder) table(n *node, v reflect.Value, path string) {
	if n.kind != mapping {
		d.fail(n, path, "%swant names, each with its value, got %s", d.named(path), n.describe())
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	for _, f := range n.fields {
		at := join(path, f.key.value)
		d.keys[at] = f.key
		value := reflect.New(v.Type().Elem()).Elem()
		d.decode(f.value, value, at)
		v.SetMapIndex(reflect.ValueOf(f.key.value), value)
	}
}

func (d *decoder) list(n *node, v reflect.Value, path string) {
	if n.kind != sequence {
		d.fail(n, path, "%swant a list, got %s", d.named(path), n.describe())
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.items), len(n.items)))
	for i, item := range n.items {
		at := fmt.Sprintf("%s[%d]", path, i)
		if item.null() {
			d.fail(item, at, "%san entry of the list is empty; fill it in, or take it out", d.named(path))
			continue
		}
		d.decode(item, v.Index(i), at)
	}
}

// free decodes what has no type here, as JSON would have it.
func (d *decoder) free(n *node, path string) any {
	switch n.kind {
	case mapping:
		m := make(map[string]any, len(n.fields))
		for _, f := range n.fields {
			at := join(path, f.key.value)
			d.keys[at], d.values[at] = f.key, f.value
			m[f.key.value] = d.free(f.value, at)
		}
		return m
	case sequence:
		s := make([]any, len(n.items))
		for i, item := range n.items {
			s[i] = d.free(item, fmt.Sprintf("%s[%d]", path, i))
		}
		return s
	}
	var value any
	if !n.broken && n.yaml().Decode(&value) != nil {
		d.fail(n, path, "%sa value that is not of the type of its tag", d.named(path))
	}
	if _, isTime := value.(time.Time); isTime {
		return n.value // JSON has no dates: it stays as it is written
	}
	return value
}

// join returns the path of a field.
func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// key returns the key that a path below the root ends in.
func (d *decoder) key(path string) string {
	for d.keys[path] == nil {
		path = parent(path) // an entry of a list: the key of the list
	}
	return d.keys[path].value
}

// named returns the key that a path ends in as the start of a message.
func (d *decoder) named(path string) string {
	return d.key(path) + ": "
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
