package openai

import (
	"agenthost/llm"
	"agenthost/llm/httpapi"
)

// A wireUsage has its numbers as floats, because some servers do. Of another type it
// is unknown.
type wireUsage struct {
	Prompt     httpapi.Count `json:"prompt_tokens"`
	Completion httpapi.Count `json:"completion_tokens"`
	Total      httpapi.Count `json:"total_tokens"`
	CacheHit   httpapi.Count `json:"prompt_cache_hit_tokens"` // DeepSeek
	Cached     httpapi.Count `json:"cached_tokens"`           // Moonshot
	Reasoning  httpapi.Count `json:"reasoning_tokens"`        // SGLang, Perplexity
	PromptMore struct {
		Cached  httpapi.Count `json:"cached_tokens"`
		Written httpapi.Count `json:"cache_write_tokens"` // OpenRouter
	} `json:"prompt_tokens_details"`
	CompletionMore struct {
		Reasoning httpapi.Count `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

func (u *wireUsage) UnmarshalJSON(data []byte) error {
	type plain wireUsage
	httpapi.Readable(data, (*plain)(u))
	return nil
}

func (u *wireUsage) usage() *llm.Usage {
	if u == nil || *u == (wireUsage{}) {
		return nil
	}
	cached := max(u.PromptMore.Cached, u.CacheHit, u.Cached)
	reasoning := max(u.CompletionMore.Reasoning, u.Reasoning)
	return &llm.Usage{
		Input:      int64(u.Prompt),
		CacheRead:  int64(cached),
		CacheWrite: int64(u.PromptMore.Written),
		Output:     int64(u.output(cached, reasoning)),
		Reasoning:  int64(reasoning),
	}
}

// output is all that the model wrote. xAI and Google count what it thought in the
// total alone, Perplexity nowhere but on its own. A total may also be larger by
// what came from a cache, or went to one.
func (u *wireUsage) output(cached, reasoning httpapi.Count) httpapi.Count {
	rest := u.Total - u.Prompt - u.Completion
	switch {
	case rest > 0 && rest != cached && rest != u.PromptMore.Written && rest != cached+u.PromptMore.Written:
		return u.Completion + rest
	case reasoning > u.Completion:
		return u.Completion + reasoning
	}
	return u.Completion
}
