package llm_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"agenthost/llm"
)

func TestCost(t *testing.T) {
	plain := llm.Price{Input: 0.25, Output: 2}
	cached := llm.Price{Input: 3, Output: 15, CacheRead: new(0.3), CacheWrite: new(3.75)}
	tests := map[string]struct {
		price llm.Price
		usage llm.Usage
		want  int64
	}{
		"nothing":                  {plain, llm.Usage{}, 0},
		"a million in":             {plain, llm.Usage{Input: 1e6}, 25_000_000},
		"a million out":            {plain, llm.Usage{Output: 1e6}, 2 * llm.MicroCents},
		"one token":                {plain, llm.Usage{Input: 1}, 25},
		"a part of a micro-cent":   {llm.Price{Input: 0.001}, llm.Usage{Input: 1}, 1},
		"rounded once, at the end": {llm.Price{Input: 0.005, Output: 0.005}, llm.Usage{Input: 1, Output: 1}, 1},
		"half a micro-cent":        {llm.Price{Input: 0.075}, llm.Usage{Input: 3}, 23},
		"each class at its price":  {cached, llm.Usage{Input: 100, CacheRead: 60, CacheWrite: 30, Output: 10}, 10*300 + 60*30 + 30*375 + 10*1500},
		"cached as input":          {plain, llm.Usage{Input: 100, CacheRead: 60, CacheWrite: 30}, 2500},
		"a cache that is free":     {llm.Price{Input: 3, CacheRead: new(0.0)}, llm.Usage{Input: 100, CacheRead: 60}, 40 * 300},
		"reasoning is output":      {plain, llm.Usage{Output: 10, Reasoning: 8}, 2000},
		"more cached than sent":    {cached, llm.Usage{Input: 10, CacheRead: 60}, 60 * 30},
		"counts below zero":        {cached, llm.Usage{Input: -5, CacheRead: -5, CacheWrite: -5, Output: -5}, 0},
		"a price that is none":     {llm.Price{Input: math.NaN(), Output: -1}, llm.Usage{Input: 9, Output: 9}, 0},
		"too much for an int64":    {llm.Price{Input: 1e6}, llm.Usage{Input: math.MaxInt64}, math.MaxInt64},
		"too much for 128 bits":    {llm.Price{Input: math.Inf(1), Output: math.Inf(1)}, llm.Usage{Input: math.MaxInt64, CacheRead: math.MaxInt64, CacheWrite: math.MaxInt64, Output: math.MaxInt64}, math.MaxInt64},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tt.price.Cost(tt.usage); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}

// TestCostIsExact compares with fractions of any size, and checks what makes
// sums of costs something to rely on.
func TestCostIsExact(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	price := func() float64 { return float64(r.IntN(200_000)) / 1000 }
	usage := func() llm.Usage {
		u := llm.Usage{Input: r.Int64N(1 << r.IntN(44)), Output: r.Int64N(1 << r.IntN(44))}
		u.CacheRead = r.Int64N(u.Input + 1)
		u.CacheWrite = r.Int64N(u.Input - u.CacheRead + 1)
		return u
	}
	for range 20_000 {
		p := llm.Price{Input: price(), Output: price(), CacheRead: new(price()), CacheWrite: new(price())}
		a, b := usage(), usage()
		got := p.Cost(a)
		if want := exactly(p, a); got != want {
			t.Fatalf("%+v of %+v: got %d, want %d", p, a, got, want)
		}
		both := p.Cost(llm.Usage{
			Input: a.Input + b.Input, CacheRead: a.CacheRead + b.CacheRead, CacheWrite: a.CacheWrite + b.CacheWrite, Output: a.Output + b.Output,
		})
		if apart := got + p.Cost(b); apart < both || apart > both+1 {
			t.Fatalf("%+v: %d apart, %d together", p, apart, both)
		}
		more := a
		more.Output++
		if p.Cost(more) < got {
			t.Fatalf("%+v: more tokens cost less", p)
		}
	}
}

// exactly is the cost in fractions, rounded up.
func exactly(p llm.Price, u llm.Usage) int64 {
	sum := new(big.Int)
	add := func(tokens int64, dollars float64) {
		thousandths := big.NewInt(int64(math.Round(dollars * 1000)))
		sum.Add(sum, thousandths.Mul(thousandths, big.NewInt(tokens)))
	}
	add(u.Input-u.CacheRead-u.CacheWrite, p.Input)
	add(u.CacheRead, *p.CacheRead)
	add(u.CacheWrite, *p.CacheWrite)
	add(u.Output, p.Output)
	// A thousandth of a dollar for a million tokens is a tenth of a micro-cent.
	return sum.Add(sum, big.NewInt(9)).Div(sum, big.NewInt(10)).Int64()
}

func TestSum(t *testing.T) {
	if got := llm.Sum(math.MaxInt64-1, 5); got != math.MaxInt64 {
		t.Errorf("got %d", got)
	}
	if got := llm.Sum(2, 3); got != 5 {
		t.Errorf("got %d", got)
	}
}

func TestMoney(t *testing.T) {
	for amount, want := range map[int64]string{
		0: "$0.00", 1: "$0.0001", 120_000_000: "$1.20", 310_000: "$0.0031", 310_001: "$0.0032", 5_050_000: "$0.0505",
		500 * llm.MicroCents: "$500.00", math.MaxInt64: "$92233720368.5478",
	} {
		if got := llm.Money(amount); got != want {
			t.Errorf("%d: got %s, want %s", amount, got, want)
		}
	}
}

func TestKnown(t *testing.T) {
	tests := map[string]struct {
		cfg    llm.Config
		window int
		input  float64
		priced bool
	}{
		"by its name":           {llm.Config{Provider: "openai", Model: "gpt-5-mini"}, 400_000, 0.25, true},
		"with a date":           {llm.Config{Provider: "openai", Model: "gpt-5-mini-2025-08-07"}, 400_000, 0.25, true},
		"the shorter one":       {llm.Config{Provider: "openai", Model: "gpt-5-2025-08-07"}, 400_000, 1.25, true},
		"another vendor":        {llm.Config{Provider: "anthropic", Model: "claude-haiku-4-5-20251001"}, 200_000, 1, true},
		"latest":                {llm.Config{Provider: "openai", BaseURL: "https://api.mistral.ai/v1", Model: "mistral-small-latest"}, 128_000, 0.1, true},
		"by its URL":            {llm.Config{Provider: "openai", BaseURL: "https://API.groq.com/openai/v1", Model: "llama-3.1-8b-instant"}, 131_072, 0.05, true},
		"a new kind":            {llm.Config{Provider: "openai", Model: "gpt-5-grand"}, 0, 0, false},
		"a new version":         {llm.Config{Provider: "openai", BaseURL: "https://api.x.ai/v1", Model: "grok-4-1"}, 0, 0, false},
		"of somebody else":      {llm.Config{Provider: "openai", BaseURL: "https://api.groq.com/openai/v1", Model: "gpt-5"}, 0, 0, false},
		"a server of one's own": {llm.Config{Provider: "openai", BaseURL: "http://127.0.0.1:11434/v1", Model: "gpt-5-mini"}, 0, 0, false},
		"no URL":                {llm.Config{Provider: "openai", BaseURL: "http://[", Model: "gpt-5-mini"}, 0, 0, false},
		"no model":              {llm.Config{Provider: "echo"}, 0, 0, false},
		"a price of one's own":  {llm.Config{Provider: "openai", Model: "gpt-5-mini", Price: &llm.Price{Input: 7}}, 400_000, 7, true},
		"a window of one's own": {llm.Config{Provider: "openai", Model: "gpt-5-mini", Window: 9000}, 9000, 0.25, true},
		"both":                  {llm.Config{Provider: "scripted", Window: 9000, Price: &llm.Price{Input: 7}}, 9000, 7, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			info, priced := tt.cfg.Known()
			if info.Window != tt.window || info.Price.Input != tt.input || priced != tt.priced {
				t.Errorf("got %+v, %v", info, priced)
			}
		})
	}
}

// TestKnownIsComplete checks that no line of the table lacks a number.
func TestKnownIsComplete(t *testing.T) {
	for vendor, models := range llm.AllKnown() {
		if len(models) == 0 {
			t.Errorf("%s has no models", vendor)
		}
		for _, name := range models {
			info, ok := llm.Known(vendor, name)
			p := info.Price
			if !ok || info.Window < 10_000 || p.Input <= 0 || p.Output < p.Input || p.CacheRead != nil && *p.CacheRead >= p.Input {
				t.Errorf("%s %s: got %+v, %v", vendor, name, info, ok)
			}
		}
	}
}
