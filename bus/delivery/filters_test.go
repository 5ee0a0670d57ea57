package delivery_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/delivery"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"
)

const all = "plugin.inbound.>"

func inbound(instances ...string) []string {
	list := make([]string, len(instances))
	for i, s := range instances {
		list[i] = bus.InboundPrefix + s
	}
	return list
}

func numbered(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("c%03d", i)
	}
	return inbound(list...)
}

func TestFilters(t *testing.T) {
	tests := map[string]struct{ given, want []string }{
		"none":                      {nil, nil},
		"one":                       {inbound("a"), inbound("a")},
		"twice":                     {inbound("a", "a"), inbound("a")},
		"sorted":                    {inbound("b", "a"), inbound("a", "b")},
		"channel and its instance":  {inbound("a", "a.x"), inbound("a", "a.x")},
		"every instance covers one": {inbound("a.x", "a.*", "a.y"), inbound("a.*")},
		"not the bare channel":      {inbound("a", "a.*"), inbound("a", "a.*")},
		"the tail covers any depth": {inbound("a.x", "a.*", "a.>", "b"), inbound("a.>", "b")},
		"all covers all":            {append(inbound("a", "b.*"), all), []string{all}},
		"512":                       {numbered(512), numbered(512)},
		"513":                       {numbered(513), []string{all}},
		"513, of which one covers":  {append(numbered(511), inbound("z.*", "z.a")...), append(numbered(511), inbound("z.*")...)},
		"crossing":                  {[]string{"plugin.inbound.*.x", "plugin.inbound.a.*"}, []string{all}},
		"crossing the tail":         {[]string{"plugin.*.x", "plugin.inbound.>"}, []string{all}},
		"beside each other":         {inbound("*.x", "*.y"), inbound("*.x", "*.y")},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			given := slices.Clone(tt.given)
			if diff := cmp.Diff(tt.want, delivery.Filters(tt.given, all)); diff != "" {
				t.Error(diff)
			}
			if !slices.Equal(given, tt.given) {
				t.Errorf("the given filters were changed: got %v, want %v", tt.given, given)
			}
		})
	}
}

// The server takes whatever Filters makes, and it takes what any of the given
// filters took.
func TestServerAcceptsFilters(t *testing.T) {
	js := bustest.Open(t).JS
	stream, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{all}, Storage: jetstream.MemoryStorage})
	if err != nil {
		t.Fatal(err)
	}
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	for range 300 {
		given := make([]string, 1+r.IntN(6))
		for i := range given {
			given[i] = randomFilter(r)
		}
		filters := delivery.Filters(given, all)
		cons, err := stream.CreateConsumer(t.Context(), jetstream.ConsumerConfig{FilterSubjects: filters, MemoryStorage: true})
		if err != nil {
			t.Fatalf("seed %d: filters %v of %v: %v", seed, filters, given, err)
		}
		if err := stream.DeleteConsumer(t.Context(), cons.CachedInfo().Name); err != nil {
			t.Fatal(err)
		}
		for range 50 {
			subject := strings.NewReplacer("*", "b", ">", "a.c").Replace(randomFilter(r))
			if matches(given, subject) && !matches(filters, subject) {
				t.Fatalf("seed %d: %v do not take %s, which %v took", seed, filters, subject, given)
			}
		}
	}
}

func matches(filters []string, subject string) bool {
	return slices.ContainsFunc(filters, func(f string) bool { return bus.Matches(f, subject) })
}

func randomFilter(r *rand.Rand) string {
	tokens := make([]string, 1+r.IntN(3))
	for i := range tokens {
		tokens[i] = []string{"a", "b", "c", "*"}[r.IntN(4)]
	}
	if r.IntN(5) == 0 {
		tokens[len(tokens)-1] = ">"
	}
	return bus.InboundPrefix + strings.Join(tokens, ".")
}
