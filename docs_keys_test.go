package agenthost_test

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"agenthost/config"
	"agenthost/plugins/settings"

	"github.com/google/go-cmp/cmp"
)

var keyRow = regexp.MustCompile("(?m)^\\| `([a-z][^` ]*)` \\| [^|]*\\| ")

// docs/configuration.md lists every key, and none that does not exist.
func TestEveryKeyIsInTheDocs(t *testing.T) {
	var listed []string
	for _, m := range keyRow.FindAllStringSubmatch(read(t, "docs/configuration.md"), -1) {
		listed = append(listed, m[1])
	}
	known := keys(reflect.TypeFor[config.Config](), "")
	slices.Sort(listed)
	slices.Sort(known)
	if diff := cmp.Diff(known, listed); diff != "" {
		t.Errorf("keys (-config +docs):\n%s", diff)
	}
}

// keys are the keys of a type that hold values, each with the path to it:
// a list is [], the names of a mapping are <name>.
func keys(typ reflect.Type, path string) []string {
	if typ == reflect.TypeFor[config.Defaults]() {
		return []string{path} // its keys are those of an agent
	}
	if anyAccount := "plugins.<name>.<name>"; typ == reflect.TypeFor[settings.Account]() && path != anyAccount {
		return nil // they are listed once
	}
	switch typ.Kind() {
	case reflect.Pointer:
		return keys(typ.Elem(), path)
	case reflect.Map:
		return keys(typ.Elem(), path+".<name>")
	case reflect.Slice:
		if typ.Elem().Kind() == reflect.Struct {
			return keys(typ.Elem(), path+"[]")
		}
	case reflect.Struct:
		if typ.NumField() > 0 {
			return fieldKeys(typ, path)
		}
	}
	return []string{path}
}

func fieldKeys(typ reflect.Type, path string) []string {
	var list []string
	for field := range typ.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		switch {
		case name == "-":
		case options == "inline":
			list = append(list, keys(field.Type, path)...)
		case path == "":
			list = append(list, keys(field.Type, name)...)
		default:
			list = append(list, keys(field.Type, path+"."+name)...)
		}
	}
	return list
}
