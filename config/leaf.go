package config

import (
	"math"
	"reflect"
	"time"
)

// leaf decodes a scalar. No number here is below 0 but a priority, and no
// duration is 0 but a debounce: 0 would silently become the default.
func (d *decoder) leaf(n *node, v reflect.Value, path string) {
	if n.kind != scalar {
		d.fail(n, path, "%swant %s, got %s", d.named(path), wanted(v.Type()), n.describe())
		return
	}
	if !fits(n, v) {
		d.fail(n, path, "%swant %s, got %s", d.named(path), wanted(v.Type()), n.quote())
		return
	}
	switch {
	case v.Type() == durationType:
		if v.Int() < 0 || v.Int() == 0 && d.key(path) != "debounce" {
			d.fail(n, path, "%swant a duration above 0, got %s", d.named(path), n.quote())
		}
	case v.CanInt() && v.Int() < 0 && d.key(path) != "priority",
		v.CanFloat() && !(v.Float() >= 0 && v.Float() <= math.MaxFloat64):
		d.fail(n, path, "%swant 0 or more, got %s", d.named(path), n.quote())
	}
}

// fits sets v to n if n is of its type.
func fits(n *node, v reflect.Value) bool {
	if v.Type() == durationType {
		duration, err := time.ParseDuration(n.value)
		v.SetInt(int64(duration))
		return err == nil && n.resolvedTag() != intTag
	}
	if v.CanInt() && n.resolvedTag() != intTag {
		return false // the library would cut 1.5 down to 1
	}
	return n.yaml().Decode(v.Addr().Interface()) == nil
}

func wanted(t reflect.Type) string {
	switch {
	case t == durationType:
		return "a duration with its unit, such as 30s or 10m"
	case t.Kind() == reflect.Bool:
		return "true or false"
	case t.Kind() == reflect.String:
		return "text"
	case t.Kind() == reflect.Float64:
		return "a number"
	default:
		return "a whole number"
	}
}
