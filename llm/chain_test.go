package llm_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"agenthost/llm"
	"agenthost/llm/llmtest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// A model gives one answer after the other, the last one for ever, each after
// a second.
type model struct {
	answers []answer
	asked   []llm.Request
}

type answer struct {
	deltas []llm.Delta
	err    error
}

func (m *model) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	a := m.answers[min(len(m.asked), len(m.answers)-1)]
	m.asked = append(m.asked, req)
	return func(yield func(llm.Delta, error) bool) {
		time.Sleep(time.Second)
		for _, d := range a.deltas {
			if !yield(d, ctx.Err()) {
				return
			}
		}
		if a.err != nil {
			yield(llm.Delta{}, a.err)
		}
	}
}

var (
	good = answer{deltas: []llm.Delta{{Text: "a"}, {Text: "b", Usage: &llm.Usage{Output: 2}}, {Finish: llm.FinishStop}}}

	unavailable = llm.StatusError(503, nil, errors.New("unavailable"))
	limited     = &llm.Error{Code: llm.CodeProviderRateLimit, Transient: true, RetryAfter: 20 * time.Second, Err: errors.New("slow")}
	limitedLong = &llm.Error{Code: llm.CodeProviderRateLimit, Transient: true, RetryAfter: time.Hour, Err: errors.New("slow")}
	noQuota     = &llm.Error{Code: llm.CodeProviderRateLimit, Err: errors.New("quota")}
	badKey      = &llm.Error{Code: llm.CodeProviderAuth, Err: errors.New("key")}
	badRequest  = &llm.Error{Code: llm.CodeValidation, TooLong: true, Err: errors.New("bad")}
	filtered    = &llm.Error{Code: llm.CodeContentFilter, Err: errors.New("filtered")}
)

func failing(errs ...error) []answer {
	var as []answer
	for _, err := range errs {
		as = append(as, answer{err: err})
	}
	return as
}

func TestChain(t *testing.T) {
	goods := []answer{good}
	brokenAfter := func(d llm.Delta) []answer { return []answer{{[]llm.Delta{d}, unavailable}, good} }
	tests := map[string]struct {
		first, second []answer // no second: a chain of one
		attempts      []string // who was asked
		text          string
		code          llm.Code // of the error, empty: none
		least, most   time.Duration
	}{
		"first answers":              {goods, goods, []string{"one"}, "ab", "", time.Second, time.Second},
		"one retry":                  {append(failing(unavailable), good), nil, []string{"one", "one"}, "ab", "", 2*time.Second + 250*time.Millisecond, 2*time.Second + 500*time.Millisecond},
		"two retries":                {append(failing(unavailable, unavailable), good), nil, []string{"one", "one", "one"}, "ab", "", 3*time.Second + 750*time.Millisecond, 3*time.Second + 1500*time.Millisecond},
		"three tries are all":        {failing(unavailable), nil, []string{"one", "one", "one"}, "", llm.CodeProviderUnavailable, 3 * time.Second, 5 * time.Second},
		"then the next":              {failing(unavailable), goods, []string{"one", "one", "one", "two"}, "ab", "", 4 * time.Second, 6 * time.Second},
		"Retry-After":                {append(failing(limited), good), nil, []string{"one", "one"}, "ab", "", 22 * time.Second, 22250 * time.Millisecond},
		"Retry-After of 0":           {append(failing(llm.StatusError(429, http.Header{"Retry-After": {"0"}}, io.EOF)), good), nil, []string{"one", "one"}, "ab", "", 2*time.Second + 250*time.Millisecond, 2*time.Second + 500*time.Millisecond},
		"an hour is too long":        {append(failing(limitedLong), good), nil, []string{"one"}, "", llm.CodeProviderRateLimit, time.Second, time.Second},
		"an hour, next":              {failing(limitedLong), goods, []string{"one", "two"}, "ab", "", 2 * time.Second, 2 * time.Second},
		"the first opens again":      {append(failing(limited), good), failing(badKey), []string{"one", "two", "one"}, "ab", "", 22 * time.Second, 22250 * time.Millisecond},
		"wrong key, next":            {failing(badKey), goods, []string{"one", "two"}, "ab", "", 2 * time.Second, 2 * time.Second},
		"no quota, next":             {failing(noQuota), goods, []string{"one", "two"}, "ab", "", 2 * time.Second, 2 * time.Second},
		"wrong request ends it":      {failing(badRequest), goods, []string{"one"}, "", llm.CodeValidation, time.Second, time.Second},
		"filter ends it":             {failing(filtered), goods, []string{"one"}, "", llm.CodeContentFilter, time.Second, time.Second},
		"unknown error ends it":      {failing(io.EOF), goods, []string{"one"}, "", llm.CodeInternal, time.Second, time.Second},
		"wrong request of the next":  {failing(badKey), failing(badRequest), []string{"one", "two"}, "", llm.CodeValidation, 2 * time.Second, 2 * time.Second},
		"all for one reason":         {failing(badKey), failing(badKey), []string{"one", "two"}, "", llm.CodeProviderAuth, 2 * time.Second, 2 * time.Second},
		"all for different reasons":  {failing(noQuota), failing(badKey), []string{"one", "two"}, "", llm.CodeProviderUnavailable, 2 * time.Second, 2 * time.Second},
		"no try after text":          {brokenAfter(llm.Delta{Text: "x"}), goods, []string{"one"}, "x", llm.CodeProviderUnavailable, time.Second, time.Second},
		"another after a signature":  {brokenAfter(llm.Delta{Meta: []byte("1")}), nil, []string{"one", "one"}, "ab", "", 2 * time.Second, 3 * time.Second},
		"no try after media":         {brokenAfter(llm.Delta{Media: &llm.Media{}}), goods, []string{"one"}, "", llm.CodeProviderUnavailable, time.Second, time.Second},
		"another after reasoning":    {brokenAfter(llm.Delta{Reasoning: "x"}), nil, []string{"one", "one"}, "ab", "", 2 * time.Second, 3 * time.Second},
		"the next after reasoning":   {[]answer{{[]llm.Delta{{Reasoning: "x"}}, unavailable}}, goods, []string{"one", "one", "one", "two"}, "ab", "", 4 * time.Second, 6 * time.Second},
		"another after blank text":   {brokenAfter(llm.Delta{Text: "\n"}), nil, []string{"one", "one"}, "ab", "", 2 * time.Second, 3 * time.Second},
		"another after a call":       {brokenAfter(llm.Delta{Call: &llm.CallDelta{Name: "f"}}), nil, []string{"one", "one"}, "ab", "", 2 * time.Second, 3 * time.Second},
		"another try after usage":    {brokenAfter(llm.Delta{Usage: &llm.Usage{Input: 1}}), nil, []string{"one", "one"}, "ab", "", 2 * time.Second, 3 * time.Second},
		"no finish is an error":      {[]answer{{}, good}, nil, []string{"one", "one"}, "ab", "", 2 * time.Second, 3 * time.Second},
		"an empty answer is one too": {[]answer{{deltas: []llm.Delta{{Finish: llm.FinishStop}}}}, goods, []string{"one", "one", "one", "two"}, "ab", "", 4 * time.Second, 6 * time.Second},
		"so is one of reasoning":     {[]answer{{deltas: []llm.Delta{{Reasoning: "x"}, {Finish: llm.FinishStop}}}, good}, nil, []string{"one", "one"}, "ab", "", 2 * time.Second, 3 * time.Second},
		"so is one of blanks":        {[]answer{{deltas: []llm.Delta{{Text: " \n"}, {Finish: llm.FinishStop}}}, good}, nil, []string{"one", "one"}, "ab", "", 2 * time.Second, 3 * time.Second},
		"cut before its first word":  {[]answer{{deltas: []llm.Delta{{Reasoning: "x"}, {Finish: llm.FinishLength}}}}, goods, []string{"one", "two"}, "ab", "", 2 * time.Second, 2 * time.Second},
		"an empty one was filtered":  {[]answer{{deltas: []llm.Delta{{Finish: llm.FinishContentFilter}}}}, goods, []string{"one"}, "", "", time.Second, time.Second},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				chain := llm.Chain{Links: []llm.Link{{Name: "one", Model: "m1", Provider: &model{answers: tt.first}}}}
				if tt.second != nil {
					chain.Links = append(chain.Links, llm.Link{Name: "two", Model: "m2", Provider: &model{answers: tt.second}})
				}
				var asked []string
				start := time.Now()
				a := llmtest.Read(chain.Stream(t.Context(), llmtest.Request(), func(a llm.Attempt) { asked = append(asked, a.Provider) }))
				took := time.Since(start)
				if a.Fault != nil {
					t.Error(a.Fault)
				}
				if diff := cmp.Diff(tt.attempts, asked); diff != "" {
					t.Error(diff)
				}
				if took < tt.least || took > tt.most {
					t.Errorf("took %v, want %v to %v", took, tt.least, tt.most)
				}
				if got := a.Message.Text(); got != tt.text {
					t.Errorf("said %q, want %q", got, tt.text)
				}
				if tt.code == "" {
					if a.Err != nil {
						t.Error(a.Err)
					}
				} else if e := llm.AsError(a.Err); e == nil || e.Code != tt.code {
					t.Errorf("got %v, want code %q", a.Err, tt.code)
				}
			})
		})
	}
}

func TestChainReports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		counted := answer{[]llm.Delta{{Usage: &llm.Usage{Input: 7}}}, unavailable}
		chain := llm.Chain{Links: []llm.Link{
			{Name: "one", Model: "m1", Provider: &model{answers: []answer{counted, {err: badKey}}}},
			{Name: "two", Provider: &model{answers: []answer{good}}},
		}}
		var got []llm.Attempt
		var b llm.Builder
		for d, err := range chain.Stream(t.Context(), llmtest.Request(), func(a llm.Attempt) { got = append(got, a) }) {
			if err != nil {
				t.Fatal(err)
			}
			if d.Finish != "" && len(got) != 3 {
				t.Errorf("finish came after %d reports, want 3", len(got))
			}
			b.Add(d)
		}
		want := []llm.Attempt{
			{Provider: "one", Model: "m1", Number: 1, Usage: llm.Usage{Input: 7}, Took: time.Second, Err: unavailable},
			{Provider: "one", Model: "m1", Number: 2, Took: time.Second, Err: badKey},
			{Provider: "two", Model: "test", Number: 1, Usage: llm.Usage{Output: 2}, Took: time.Second},
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateErrors()); diff != "" {
			t.Error(diff)
		}
		if b.Usage() != (llm.Usage{Output: 2}) {
			t.Errorf("caller was told %+v, want the usage of the last attempt only", b.Usage())
		}
	})
}

// TestChainPassesOnWhatComesFirst: reasoning may be nothing but its signature.
func TestChainPassesOnWhatComesFirst(t *testing.T) {
	for name, first := range map[string]llm.Delta{
		"signature": {Meta: []byte(`"s"`)},
		"media":     {Media: &llm.Media{MIME: "image/png"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &model{answers: []answer{{deltas: []llm.Delta{first, {Text: "a", Finish: llm.FinishStop}}}}}
				c := llm.Chain{Links: []llm.Link{{Name: "one", Provider: m}}}
				a := llmtest.Read(c.Stream(t.Context(), llm.Request{}, func(llm.Attempt) {}))
				if diff := cmp.Diff([]llm.Delta{first, {Text: "a", Finish: llm.FinishStop}}, a.Deltas); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// TestChainKeepsUsage: what is counted before anything is said still arrives.
func TestChainKeepsUsage(t *testing.T) {
	tests := map[string][]llm.Delta{
		"with the text":   {{Usage: &llm.Usage{Input: 7}}, {Text: "a"}, {Finish: llm.FinishStop}},
		"with the finish": {{Usage: &llm.Usage{Input: 7}}, {Text: "a", Finish: llm.FinishStop}},
		"in between":      {{Text: "a"}, {Usage: &llm.Usage{Input: 7}}, {Finish: llm.FinishStop}},
	}
	for name, deltas := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := llmtest.Read(chainOf(answer{deltas: deltas}).Stream(t.Context(), llmtest.Request(), func(llm.Attempt) {}))
				if a.Err != nil || a.Usage != (llm.Usage{Input: 7}) {
					t.Errorf("got %+v, %v", a.Usage, a.Err)
				}
			})
		})
	}
}

// TestChainBoundsAnAnswer: a server that never ends its answer breaks off, and
// takes no more memory than the bound.
func TestChainBoundsAnAnswer(t *testing.T) {
	piece := strings.Repeat("x", 1<<20)
	tests := map[string]llm.Delta{
		"text":      {Text: piece},
		"reasoning": {Reasoning: piece},
		"a call":    {Call: &llm.CallDelta{Args: piece}},
		"media":     {Media: &llm.Media{Data: []byte(piece)}},
	}
	for name, d := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				endless := answer{deltas: slices.Repeat([]llm.Delta{d}, 1000)}
				heard := 0
				for d, err := range chainOf(endless).Stream(t.Context(), llmtest.Request(), func(llm.Attempt) {}) {
					if d.Restart { // what came before is given up
						heard = 0
					}
					if heard++; err == nil {
						continue
					}
					if e := llm.AsError(err); e.Code != llm.CodeProviderUnavailable || heard > 70 {
						t.Errorf("got %v after %d MiB", err, heard)
					}
					return
				}
				t.Error("it came to an end")
			})
		})
	}
}

func TestChainEndsWithContext(t *testing.T) {
	tests := map[string]struct {
		answer answer
		after  time.Duration
		asked  int
	}{
		"while it waits":    {answer{err: limited}, 10 * time.Second, 1},
		"while it is asked": {answer{err: unavailable}, 500 * time.Millisecond, 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(tt.after, cancel)
				asked := 0
				a := llmtest.Read(chainOf(tt.answer).Stream(ctx, llmtest.Request(), func(llm.Attempt) { asked++ }))
				if e := llm.AsError(a.Err); e == nil || e.Code != llm.CodeCancelled || asked != tt.asked {
					t.Errorf("got %v after %d attempts, want cancelled after %d", a.Err, asked, tt.asked)
				}
			})
		})
	}
}

func TestChainCanBeLeft(t *testing.T) {
	tests := map[string]struct {
		at   func(llm.Delta) bool
		want llm.Code // of the attempt's error
	}{
		"at once":       {func(llm.Delta) bool { return true }, llm.CodeCancelled},
		"at the finish": {func(d llm.Delta) bool { return d.Finish != "" }, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var got []llm.Attempt
				for d := range chainOf(good).Stream(t.Context(), llmtest.Request(), func(a llm.Attempt) { got = append(got, a) }) {
					if tt.at(d) {
						break
					}
				}
				if len(got) != 1 || (got[0].Err != nil) != (tt.want != "") || tt.want != "" && llm.AsError(got[0].Err).Code != tt.want {
					t.Errorf("reported %+v, want one attempt with %q", got, tt.want)
				}
			})
		})
	}
}

func TestEmptyChain(t *testing.T) {
	a := llmtest.Read(new(llm.Chain).Stream(t.Context(), llmtest.Request(), func(llm.Attempt) { t.Error("an attempt") }))
	if e := llm.AsError(a.Err); e == nil || e.Code != llm.CodeValidation {
		t.Errorf("got %v, want a validation error", a.Err)
	}
}

func TestChainStripsReasoning(t *testing.T) {
	thought := func(provider string) llm.Part {
		return llm.Part{Type: llm.Reasoning, Text: "hm", Provider: provider, Meta: []byte(`"s"`)}
	}
	said := llm.Part{Type: llm.Text, Text: "a"}
	signed := llm.Part{Type: llm.ToolCall, Call: "x", Name: "f", Args: []byte("{}"), Provider: "two", Meta: []byte(`"s"`)}
	unsigned := llm.Part{Type: llm.ToolCall, Call: "x", Name: "f", Args: []byte("{}")}
	message := func(parts ...llm.Part) llm.Message { return llm.Message{Role: llm.Assistant, Parts: parts} }
	tests := map[string]struct{ sent, one, two []llm.Message }{
		"nothing to strip": {
			[]llm.Message{llm.UserText("hi"), message(said)},
			[]llm.Message{llm.UserText("hi"), message(said)},
			[]llm.Message{llm.UserText("hi"), message(said)},
		},
		"each has its own": {
			[]llm.Message{message(thought("one"), said), message(thought("two"), said, signed)},
			[]llm.Message{message(thought("one"), said), message(said, unsigned)},
			[]llm.Message{message(said), message(thought("two"), said, signed)},
		},
		"only a thought": {
			[]llm.Message{llm.UserText("hi"), message(thought("one"))},
			[]llm.Message{llm.UserText("hi"), message(thought("one"))},
			[]llm.Message{llm.UserText("hi")},
		},
		"of unknown origin": {
			[]llm.Message{message(thought(""), said)}, []llm.Message{message(said)}, []llm.Message{message(said)},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				one, two := &model{answers: failing(badKey)}, &model{answers: []answer{good}}
				chain := llm.Chain{Links: []llm.Link{{Name: "one", Provider: one}, {Name: "two", Provider: two}}}
				before := clone(tt.sent)
				a := llmtest.Read(chain.Stream(t.Context(), llm.Request{Messages: tt.sent}, func(llm.Attempt) {}))
				if a.Err != nil {
					t.Fatal(a.Err)
				}
				if diff := cmp.Diff(tt.one, one.asked[0].Messages); diff != "" {
					t.Errorf("to one: %s", diff)
				}
				if diff := cmp.Diff(tt.two, two.asked[0].Messages); diff != "" {
					t.Errorf("to two: %s", diff)
				}
				if diff := cmp.Diff(before, tt.sent); diff != "" {
					t.Errorf("the caller's messages have changed: %s", diff)
				}
			})
		})
	}
}

func chainOf(answers ...answer) *llm.Chain {
	return &llm.Chain{Links: []llm.Link{{Name: "one", Provider: &model{answers: answers}}}}
}

func clone(ms []llm.Message) []llm.Message {
	var c []llm.Message
	for _, m := range ms {
		m.Parts = append([]llm.Part(nil), m.Parts...)
		c = append(c, m)
	}
	return c
}

func counting(tokens int64) answer {
	return answer{deltas: []llm.Delta{{Text: "a"}, {Usage: &llm.Usage{Input: 1, Output: tokens}}, {Finish: llm.FinishStop}}}
}

func TestChainCost(t *testing.T) {
	price := &llm.Price{Input: 1, Output: 2}
	silent := answer{deltas: []llm.Delta{{Text: "a"}, {Finish: llm.FinishStop}}}
	charged := answer{deltas: []llm.Delta{{Usage: &llm.Usage{Input: 3}}}, err: unavailable}
	tests := map[string]struct {
		price   *llm.Price
		answers []answer
		costs   []int64
	}{
		"by its usage":             {price, []answer{good}, []int64{400}},
		"price unknown":            {nil, []answer{good}, []int64{0}},
		"no usage but words":       {price, []answer{silent}, []int64{77}},
		"failed with usage":        {price, []answer{charged, good}, []int64{300, 400}},
		"failed without":           {price, []answer{{err: unavailable}, good}, []int64{0, 400}},
		"usage below nothing":      {price, []answer{counting(-7)}, []int64{77}},
		"usage beyond all":         {price, []answer{counting(math.MaxInt64)}, []int64{77}},
		"nobody knows what it was": {nil, []answer{silent}, []int64{0}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var costs []int64
				link := llm.Link{Name: "p", Model: "m", Provider: &model{answers: tt.answers}, Price: tt.price}
				c := &llm.Chain{Links: []llm.Link{link}, Admit: func(_ context.Context, l llm.Link, req llm.Request) (llm.Admission, error) {
					if l.Name != "p" || req.Model != "m" {
						t.Errorf("asked for %s %s", l.Name, req.Model)
					}
					return llm.Admission{Expected: 77}, nil
				}}
				for _, err := range c.Stream(t.Context(), llm.Request{}, func(a llm.Attempt) {
					if costs = append(costs, a.Cost); a.Priced != (tt.price != nil) {
						t.Errorf("priced is %v", a.Priced)
					}
				}) {
					if err != nil {
						t.Fatal(err)
					}
				}
				if diff := cmp.Diff(tt.costs, costs); diff != "" {
					t.Errorf("costs (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestChainAdmits checks that what is not admitted is not sent, to no link.
func TestChainAdmits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := &model{answers: failing(unavailable)}, &model{answers: []answer{good}}
		asked, reported := 0, 0
		c := &llm.Chain{
			Links: []llm.Link{{Name: "a", Provider: first}, {Name: "b", Provider: second}},
			Admit: func(context.Context, llm.Link, llm.Request) (llm.Admission, error) {
				if asked++; asked == 3 {
					return llm.Admission{}, &llm.Error{Code: llm.CodeBudgetExceeded, Err: errors.New("no money")}
				}
				return llm.Admission{}, nil
			},
		}
		var last error
		for _, err := range c.Stream(t.Context(), llm.Request{}, func(llm.Attempt) { reported++ }) {
			last = err
		}
		if code := llm.AsError(last).Code; code != llm.CodeBudgetExceeded || reported != 2 || len(first.asked) != 2 || len(second.asked) != 0 {
			t.Errorf("got %v after %d reports; asked %d and %d times", last, reported, len(first.asked), len(second.asked))
		}
	})
}

// A call that ends while it waits for its turn, or that its model's gate turns away, gives back what
// it has reserved, and costs nothing.
func TestChainGivesBackWhatItDoesNotSpend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(llm.Rate{Concurrency: 1})
		var reserved, settled atomic.Int64
		c := s.chain()
		c.Admit = func(context.Context, llm.Link, llm.Request) (llm.Admission, error) {
			reserved.Add(1)
			return llm.Admission{Expected: 7, Settle: func(cost int64) {
				if settled.Add(1); cost != 0 {
					t.Errorf("%d were spent", cost)
				}
			}}, nil
		}
		ctx, cancel := context.WithCancel(t.Context())
		for _, ctx := range []context.Context{t.Context(), ctx} {
			go func() {
				for range c.Stream(ctx, llm.Request{}, func(llm.Attempt) {}) {
				}
			}()
			synctest.Wait()
		}
		if reserved.Load() != 2 || settled.Load() != 0 || s.calls.Load() != 1 {
			t.Fatalf("%d are reserved, %d settled, %d made; want one that is made and one that waits", reserved.Load(), settled.Load(), s.calls.Load())
		}
		cancel()
		synctest.Wait()
		if settled.Load() != 1 {
			t.Errorf("%d reservations are settled, want that of the call that was cancelled", settled.Load())
		}
		time.Sleep(time.Second)
		synctest.Wait()
		s.gate.Trip()
		ended, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for range c.Stream(ended, llm.Request{}, func(llm.Attempt) {}) {
		}
		if reserved.Load() != settled.Load() || reserved.Load() < 3 || s.calls.Load() != 1 {
			t.Errorf("of %d reservations %d are settled after %d calls", reserved.Load(), settled.Load(), s.calls.Load())
		}
	})
}
