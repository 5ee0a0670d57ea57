package placement_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"agenthost/internal/placement"

	"github.com/google/go-cmp/cmp"
)

func upTo(n int) (list []int) {
	for i := range n {
		list = append(list, i)
	}
	return list
}

func host(name string, weight, lanes int, serves ...int) placement.Host {
	return placement.Host{Name: name, Weight: weight, Lanes: upTo(lanes), Serves: serves}
}

func TestPlace(t *testing.T) {
	t.Parallel()
	type placed = map[int]string
	tests := map[string]struct {
		hosts []placement.Host
		want  placed
	}{
		"one host":                   {[]placement.Host{host("a", 1, 2)}, placed{0: "a", 1: "a"}},
		"an idle fleet":              {[]placement.Host{host("b", 1, 4), host("a", 1, 4)}, placed{0: "a", 1: "b", 2: "a", 3: "b"}},
		"a second host joins":        {[]placement.Host{host("a", 1, 4, 0, 1, 2, 3), host("b", 1, 4)}, placed{0: "a", 1: "a", 2: "b", 3: "b"}},
		"a third host joins":         {[]placement.Host{host("a", 1, 4, 0, 1), host("b", 1, 4, 2, 3), host("c", 1, 4)}, placed{0: "a", 1: "a", 2: "b", 3: "c"}},
		"even: nothing moves":        {[]placement.Host{host("a", 1, 4, 1, 3), host("b", 1, 4, 0, 2)}, placed{0: "b", 1: "a", 2: "b", 3: "a"}},
		"one is gone":                {[]placement.Host{host("b", 1, 4, 0, 2)}, placed{0: "b", 1: "b", 2: "b", 3: "b"}},
		"one of three is gone":       {[]placement.Host{host("b", 1, 4, 2), host("c", 1, 4, 3)}, placed{0: "b", 1: "c", 2: "b", 3: "c"}},
		"the odd one stays":          {[]placement.Host{host("a", 1, 3, 2), host("b", 1, 3, 0, 1)}, placed{0: "b", 1: "b", 2: "a"}},
		"by weight":                  {[]placement.Host{host("a", 3, 4, 0, 1, 2, 3), host("b", 1, 4)}, placed{0: "a", 1: "a", 2: "a", 3: "b"}},
		"fewer lanes than hosts":     {[]placement.Host{host("a", 1, 1), host("b", 1, 1, 0), host("c", 1, 1)}, placed{0: "b"}},
		"two say that they serve it": {[]placement.Host{host("a", 1, 2, 0, 1), host("b", 1, 2, 0)}, placed{0: "a", 1: "b"}},
		"a lane that one host knows": {[]placement.Host{host("a", 1, 1, 0), host("b", 1, 3)}, placed{0: "a", 1: "b", 2: "b"}},
		"no host":                    {nil, placed{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, placement.Place(tt.hosts)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Whatever the fleet: each lane has a host, no host more than its share, the order of the
// list does not count, and what is done moves nothing more.
func TestPlaceIsEvenAndStays(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		lanes := 1 + r.IntN(32)
		var hosts []placement.Host
		for _, name := range []string{"a", "b", "c", "d", "e"}[:1+r.IntN(5)] {
			hosts = append(hosts, host(name, 1+r.IntN(4), lanes))
		}
		for lane := range lanes {
			if n := r.IntN(len(hosts) + 1); n < len(hosts) {
				hosts[n].Serves = append(hosts[n].Serves, lane)
			}
		}
		placed, shares := placement.Place(hosts), placement.Shares(hosts)
		r.Shuffle(len(hosts), func(i, j int) { hosts[i], hosts[j] = hosts[j], hosts[i] })
		if diff := cmp.Diff(placed, placement.Place(hosts)); diff != "" {
			t.Fatalf("in another order:\n%s", diff)
		}
		for i := range hosts {
			hosts[i].Serves = slices.DeleteFunc(upTo(lanes), func(lane int) bool { return placed[lane] != hosts[i].Name })
			if len(hosts[i].Serves) != shares[hosts[i].Name] {
				t.Fatalf("%+v: got %d lanes, want %v", hosts[i], len(hosts[i].Serves), shares)
			}
		}
		if diff := cmp.Diff(placed, placement.Place(hosts)); diff != "" {
			t.Fatalf("once it is so, something moves again:\n%s", diff)
		}
	}
}
