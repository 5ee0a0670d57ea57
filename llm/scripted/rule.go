package scripted

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"agenthost/llm"
)

var (
	errCut      = errors.New("stream was cut")
	errScripted = errors.New("scripted error")
)

// A rule is one entry of a script, as it is written.
type rule struct {
	When      *string `yaml:"when"`
	Is        *string `yaml:"is"`
	Match     *string `yaml:"match"`
	AfterTool string  `yaml:"after_tool"`
	Times     int     `yaml:"times"`

	Delay     time.Duration `yaml:"delay"`
	Reasoning string        `yaml:"reasoning"`
	Text      *string       `yaml:"text"`
	Chunks    []string      `yaml:"chunks"`
	Media     []attachment  `yaml:"media"`
	ToolCalls []toolCall    `yaml:"tool_calls"`
	Error     *failure      `yaml:"error"`
	Cut       bool          `yaml:"cut"`
	Finish    llm.Finish    `yaml:"finish"`
	Usage     *usage        `yaml:"usage"`

	match *regexp.Regexp
	taken atomic.Int64
}

type failure struct {
	Code       llm.Code      `yaml:"code"`
	Status     int           `yaml:"status"`
	RetryAfter time.Duration `yaml:"retry_after"`
	Message    string        `yaml:"message"`
	Transient  *bool         `yaml:"transient"`
	TooLong    bool          `yaml:"too_long"`
}

// A usage is an llm.Usage as it is written in a script.
type usage struct {
	Input      int64 `yaml:"input"`
	CacheRead  int64 `yaml:"cache_read"`
	CacheWrite int64 `yaml:"cache_write"`
	Output     int64 `yaml:"output"`
	Reasoning  int64 `yaml:"reasoning"`
}

func (r *rule) fits(s situation) bool {
	switch {
	case r.AfterTool == "" && len(s.results) > 0:
		return false
	case r.When != nil && !strings.Contains(strings.ToLower(s.text), strings.ToLower(*r.When)):
		return false
	case r.Is != nil && *r.Is != s.text:
		return false
	}
	if r.AfterTool != "" {
		if _, ok := s.resultOf(r.AfterTool); !ok {
			return false
		}
	}
	return r.match == nil || r.match.MatchString(s.text)
}

// take uses the rule once more, if it may still be used.
func (r *rule) take() bool {
	return r.Times == 0 || r.taken.Add(1) <= int64(r.Times)
}

// deltas is the answer without its end.
func (r *rule) deltas(s situation) []llm.Delta {
	var ds []llm.Delta
	if r.Reasoning != "" {
		ds = append(ds, llm.Delta{Reasoning: s.expand(r.Reasoning)})
	}
	chunks := r.Chunks
	if r.Text != nil {
		chunks = []string{*r.Text}
	}
	for _, c := range chunks {
		ds = append(ds, llm.Delta{Text: s.expand(c)})
	}
	for _, a := range r.Media {
		ds = append(ds, llm.Delta{Media: &llm.Media{MIME: a.MIME, Name: a.Name, Data: a.data}})
	}
	for i, c := range r.ToolCalls {
		ds = append(ds, llm.Delta{Call: c.delta(i, s)})
	}
	if r.Usage != nil && r.breaks() {
		ds = append(ds, llm.Delta{Usage: r.usage()})
	}
	return ds
}

func (r *rule) breaks() bool { return r.Error != nil || r.Cut }

func (r *rule) usage() *llm.Usage {
	if r.Usage == nil {
		return nil
	}
	u := llm.Usage(*r.Usage)
	return &u
}

// end is the last element of the stream.
func (r *rule) end(ctx context.Context, s situation) (llm.Delta, error) {
	if !r.breaks() {
		d := llm.Delta{Usage: r.usage(), Finish: r.Finish}
		if d.Finish == "" && len(r.ToolCalls) > 0 {
			d.Finish = llm.FinishToolCalls
		}
		d.Finish = cmp.Or(d.Finish, llm.FinishStop)
		return d, nil
	}
	if err := wait(ctx, r.Delay); err != nil {
		return llm.Delta{}, err
	}
	if r.Cut {
		return llm.Delta{}, llm.Unavailable(errCut)
	}
	return llm.Delta{}, r.Error.error(s)
}

func (f *failure) error(s situation) *llm.Error {
	err := errScripted
	if f.Message != "" {
		err = errors.New(s.expand(f.Message))
	}
	e := llm.Unavailable(err)
	if f.Status != 0 {
		e = llm.StatusError(f.Status, nil, err)
	}
	if f.Code != "" {
		e.Code = f.Code
		e.Transient = f.Code == llm.CodeProviderUnavailable || f.Code == llm.CodeProviderRateLimit
	}
	if f.Transient != nil {
		e.Transient = *f.Transient
	}
	e.RetryAfter, e.TooLong = f.RetryAfter, e.TooLong || f.TooLong
	return e
}
