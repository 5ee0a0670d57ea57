package llm

import (
	"fmt"
	"math"
	"math/bits"
	"strings"
)

// MicroCents are how many micro-cents make a dollar. Money is counted in them,
// as whole numbers: sums of it are exact and come out the same on every host.
const MicroCents = 100_000_000

// aMillion is the number of tokens that a Price is for.
const aMillion = 1_000_000

// A Price is what a million tokens cost, in dollars.
type Price struct {
	Input      float64  `yaml:"input" json:"input"`
	Output     float64  `yaml:"output" json:"output"`
	CacheRead  *float64 `yaml:"cache_read,omitempty" json:"cache_read,omitempty"`   // nil: as Input
	CacheWrite *float64 `yaml:"cache_write,omitempty" json:"cache_write,omitempty"` // nil: as Input
}

// Cost is what u costs, in micro-cents. Each class of tokens is counted at its
// own price, the sum is exact, and only then is it rounded, up: a call is never
// booked for less than it cost, nor for a micro-cent more. What does not fit
// into an int64 becomes the largest one; a negative count counts as none.
func (p Price) Cost(u Usage) int64 {
	input, read, written := max(u.Input, 0), max(u.CacheRead, 0), max(u.CacheWrite, 0)
	fresh := max(input-min(read, input), 0)
	fresh -= min(written, fresh)
	sum := total{}
	sum.add(fresh, p.Input)
	sum.add(read, orInput(p.CacheRead, p.Input))
	sum.add(written, orInput(p.CacheWrite, p.Input))
	sum.add(max(u.Output, 0), p.Output)
	return sum.roundUp()
}

func orInput(price *float64, input float64) float64 {
	if price == nil {
		return input
	}
	return *price
}

// A total is a sum of micro-cents for a million times the tokens, in 128 bits.
type total struct {
	high, low uint64
	full      bool // more than that
}

func (t *total) add(tokens int64, dollars float64) {
	high, low := bits.Mul64(uint64(tokens), perMillion(dollars))
	var carry uint64
	t.low, carry = bits.Add64(t.low, low, 0)
	t.high, carry = bits.Add64(t.high, high, carry)
	t.full = t.full || carry > 0
}

func (t *total) roundUp() int64 {
	if t.full || t.high >= aMillion {
		return math.MaxInt64
	}
	cost, rest := bits.Div64(t.high, t.low, aMillion)
	if cost >= math.MaxInt64 {
		return math.MaxInt64
	}
	if rest > 0 {
		cost++
	}
	return int64(cost)
}

// perMillion is a price in micro-cents for a million tokens. Prices have far fewer
// digits than that, so it is exact.
func perMillion(dollars float64) uint64 {
	switch cents := math.Round(dollars * MicroCents); {
	case !(cents > 0): // not a number, too
		return 0
	case cents >= math.MaxInt64:
		return math.MaxInt64
	default:
		return uint64(cents)
	}
}

// Sum adds two amounts of money that are not negative. Where the sum is too
// large it stays at the largest.
func Sum(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// Money writes an amount of micro-cents for people, as $1.20 or $0.0031; less
// than a hundredth of a cent is as much as that.
func Money(microCents int64) string {
	const shown = MicroCents / 10_000
	rounded := microCents / shown
	if microCents%shown > 0 {
		rounded++
	}
	text := fmt.Sprintf("$%d.%04d", rounded/10_000, rounded%10_000)
	return strings.TrimSuffix(strings.TrimSuffix(text, "0"), "0")
}

// Amount is an amount of dollars in micro-cents.
func Amount(dollars float64) int64 { return int64(perMillion(dollars)) }
