// Package placement says which host of a fleet is to serve which lane. It elects
// nothing: NATS decides who serves a lane, and placement only who asks for it.
package placement

import (
	"cmp"
	"maps"
	"slices"
)

// A Host is a host that lives and is to serve lanes.
type Host struct {
	Name   string
	Weight int   // its share beside those of the others
	Lanes  []int // that it could serve
	Serves []int // of these, the ones that it serves now
}

// Place returns the host of each lane. Of the same hosts, in whatever order, every host
// computes the same. A lane stays where it is, unless its host has more than its share.
func Place(hosts []Host) map[int]string {
	hosts = slices.SortedFunc(slices.Values(hosts), func(a, b Host) int { return cmp.Compare(a.Name, b.Name) })
	lanes := lanesOf(hosts)
	room := Shares(hosts)
	placed := map[int]string{}
	place := func(lane int, h Host) {
		placed[lane] = h.Name
		room[h.Name]--
	}
	for _, h := range hosts {
		for _, lane := range slices.Sorted(slices.Values(h.Serves)) {
			if placed[lane] == "" && room[h.Name] > 0 {
				place(lane, h)
			}
		}
	}
	for _, lane := range lanes {
		if placed[lane] != "" {
			continue
		}
		able := slices.DeleteFunc(slices.Clone(hosts), func(h Host) bool { return !slices.Contains(h.Lanes, lane) })
		place(lane, slices.MaxFunc(able, func(a, b Host) int {
			return cmp.Or(cmp.Compare(room[a.Name], room[b.Name]), cmp.Compare(b.Name, a.Name))
		}))
	}
	return placed
}

// Shares are how many lanes each host is to serve: its part of all by weight, rounded
// so that the sum is right. What is left over goes to the largest remainders, and of
// equal ones to the host that serves so many already: then no lane need move.
func Shares(hosts []Host) map[string]int {
	hosts = slices.SortedFunc(slices.Values(hosts), func(a, b Host) int { return cmp.Compare(a.Name, b.Name) })
	weights := 0
	for _, h := range hosts {
		weights += h.Weight
	}
	shares, left := map[string]int{}, len(lanesOf(hosts))
	if weights == 0 {
		return shares
	}
	lanes := left
	for _, h := range hosts {
		shares[h.Name] = lanes * h.Weight / weights
		left -= shares[h.Name]
	}
	slices.SortStableFunc(hosts, func(a, b Host) int {
		return cmp.Or(cmp.Compare(lanes*b.Weight%weights, lanes*a.Weight%weights), cmp.Compare(len(b.Serves)-shares[b.Name], len(a.Serves)-shares[a.Name]))
	})
	for _, h := range hosts[:left] {
		shares[h.Name]++
	}
	return shares
}

// lanesOf are the lanes that any of the hosts could serve, sorted.
func lanesOf(hosts []Host) []int {
	all := map[int]bool{}
	for _, h := range hosts {
		for _, lane := range h.Lanes {
			all[lane] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}
