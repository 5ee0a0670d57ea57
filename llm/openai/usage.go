package openai

import "agenthost/llm"

// A wireUsage has its numbers as floats, because some servers do.
type wireUsage struct {
	Prompt     float64 `json:"prompt_tokens"`
	Completion float64 `json:"completion_tokens"`
	Total      float64 `json:"total_tokens"`
	CacheHit   float64 `json:"prompt_cache_hit_tokens"` // DeepSeek
	Cached     float64 `json:"cached_tokens"`           // Moonshot
	Reasoning  float64 `json:"reasoning_tokens"`        // SGLang, Perplexity
	PromptMore struct {
		Cached  float64 `json:"cached_tokens"`
		Written float64 `json:"cache_write_tokens"` // OpenRouter
	} `json:"prompt_tokens_details"`
	CompletionMore struct {
		Reasoning float64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

func (u *wireUsage) usage() *llm.Usage {
	if u == nil {
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
func (u *wireUsage) output(cached, reasoning float64) float64 {
	rest := u.Total - u.Prompt - u.Completion
	switch {
	case rest > 0 && rest != cached && rest != u.PromptMore.Written && rest != cached+u.PromptMore.Written:
		return u.Completion + rest
	case reasoning > u.Completion:
		return u.Completion + reasoning
	}
	return u.Completion
}
