package yamldoc

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
func (d *Decoder) leaf(n *Node, v reflect.Value, path string) {
	if n.Kind != Scalar {
		d.fail(n, path, "%swant %s, got %s", d.named(path), wanted(v.Type()), n.Describe())
		return
	}
	if !fits(n, v) {
		d.fail(n, path, "%swant %s, got %s", d.named(path), wanted(v.Type()), n.Quote())
		return
	}
	switch {
	case v.Type() == DurationType:
		if v.Int() < 0 || v.Int() == 0 && d.Key(path) != "debounce" {
			d.fail(n, path, "%swant a duration above 0, got %s", d.named(path), n.Quote())
		}
	case v.CanInt() && v.Int() < 0 && d.Key(path) != "priority",
		v.CanFloat() && !(v.Float() >= 0 && v.Float() <= math.MaxFloat64):
		d.fail(n, path, "%swant 0 or more, got %s", d.named(path), n.Quote())
	}
}

// fits sets v to n if n is of its type.
func fits(n *Node, v reflect.Value) bool {
	if v.Type() == DurationType {
		duration, err := parseDuration(n.Value)
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
	case t == DurationType:
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
