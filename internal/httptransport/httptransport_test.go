package httptransport_test

import (
	"net/http"
	"reflect"
	"testing"

	"agenthost/internal/httptransport"
)

// A transport beside another default one has what that of net/http has.
func TestNew(t *testing.T) {
	before := http.DefaultTransport
	want := httptransport.New()
	http.DefaultTransport = struct{ http.RoundTripper }{before}
	t.Cleanup(func() { http.DefaultTransport = before })
	got := httptransport.New()
	if want == before || got == want {
		t.Fatal("a transport is shared")
	}
	x, y := reflect.ValueOf(want).Elem(), reflect.ValueOf(got).Elem()
	for i := range x.NumField() {
		field := x.Type().Field(i)
		if !field.IsExported() {
			continue
		}
		switch field.Type.Kind() {
		case reflect.Func: // they differ by what they close over
			if x.Field(i).IsNil() != y.Field(i).IsNil() {
				t.Errorf("%s is set in one of them", field.Name)
			}
		case reflect.Map, reflect.Pointer: // what a transport makes for itself
		default:
			if !x.Field(i).Equal(y.Field(i)) {
				t.Errorf("%s: got %v, want %v", field.Name, y.Field(i), x.Field(i))
			}
		}
	}
}
