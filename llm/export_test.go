package llm

import (
	"maps"
	"slices"
)

// AllKnown lists the models of the table, by vendor.
func AllKnown() map[string][]string {
	all := map[string][]string{}
	for name, v := range vendors() {
		all[name] = slices.Collect(maps.Keys(v.Models))
	}
	return all
}
