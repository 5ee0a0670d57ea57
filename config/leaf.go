package config

import (
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"
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
		duration, err := parseDuration(n.value)
		v.SetInt(int64(duration))
		return err == nil && n.resolvedTag() != intTag
	}
	if v.CanInt() && n.resolvedTag() != intTag {
		return false // the library would cut 1.5 down to 1
	}
	return n.yaml().Decode(v.Addr().Interface()) == nil
}

var days = regexp.MustCompile(`([0-9]+(?:\.[0-9]*)?|\.[0-9]+)d`)

// parseDuration is time.ParseDuration with d for days of 24 hours.
func parseDuration(s string) (time.Duration, error) {
	var sum float64
	rest := days.ReplaceAllStringFunc(s, func(part string) string {
		n, err := strconv.ParseFloat(strings.TrimSuffix(part, "d"), 64)
		if err != nil {
			return part // which is no duration
		}
		sum += n * 24
		return ""
	})
	if rest == s {
		return time.ParseDuration(s)
	}
	return time.ParseDuration(rest + strconv.FormatFloat(sum, 'f', -1, 64) + "h")
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
