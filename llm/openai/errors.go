package openai

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"agenthost/llm"
	"agenthost/llm/httpapi"
)

var errNoAnswer = errors.New("server answered with something that is no chat completion; is base_url right?")

// A wireError is the error object of the API; servers differ in the types of
// its fields, and some have just a string.
type wireError struct {
	Message string
	Type    string
	Code    string
}

func (e *wireError) UnmarshalJSON(data []byte) error {
	var object struct {
		Message loose `json:"message"`
		Type    loose `json:"type"`
		Code    loose `json:"code"`
		Status  loose `json:"status"`
	}
	if httpapi.SaysNothing(data) {
		return nil
	}
	if data[0] != '{' {
		return json.Unmarshal(data, (*loose)(&e.Message))
	}
	err := json.Unmarshal(data, &object)
	e.Message, e.Type = string(object.Message), string(object.Type)
	e.Code = cmp.Or(string(object.Code), string(object.Status))
	return err
}

// statusError is the error of a response whose status is not 2xx.
func statusError(status int, header http.Header, body []byte) error {
	var said struct {
		Error   *wireError `json:"error"`
		Message loose      `json:"message"` // without an error around it, as some do
		Detail  loose      `json:"detail"`
	}
	w := &wireError{}
	if json.Unmarshal(unlisted(body), &said) == nil {
		w = cmp.Or(said.Error, w)
		w.Message = cmp.Or(w.Message, string(said.Message), string(said.Detail))
	}
	e := llm.StatusError(status, header, w.cause(body, status))
	w.refine(e)
	return e
}

// unlisted is the error in a list of one, as Google sends it.
func unlisted(body []byte) []byte {
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		return list[0]
	}
	return body
}

// cause is what the server said, or what there is when it said nothing a
// program can read.
func (e *wireError) cause(body []byte, status int) error {
	return httpapi.Cause(body, status, e.Message, e.Code, e.Type)
}

// streamed is an error that came after a status of 200. A number as its code is
// the status that was meant; what is unknown counts as the server's own trouble,
// as the request had been accepted.
func (e *wireError) streamed() error {
	cause := e.cause(nil, 0)
	err := llm.Unavailable(cause)
	if status, _ := strconv.Atoi(e.Code); status >= 400 && status < 600 {
		err = llm.StatusError(status, nil, cause)
	}
	e.refine(err)
	return err
}

// refine lets the provider's own code say what the status leaves open.
func (e *wireError) refine(err *llm.Error) {
	if e.tooLong() && (err.Code == llm.CodeValidation || err.Code == llm.CodeProviderUnavailable) {
		err.Code, err.Transient, err.TooLong = llm.CodeValidation, false, true
	}
	for _, code := range []string{e.Type, e.Code} { // the code is the more precise
		switch code {
		case "context_length_exceeded", "exceed_context_size_error": // the latter is llama.cpp's
			err.Code, err.Transient, err.TooLong = llm.CodeValidation, false, true
		case "content_filter", "content_policy_violation", "data_inspection_failed": // the last is DashScope's
			err.Code, err.Transient = llm.CodeContentFilter, false
		case "invalid_api_key", "authentication_error", "permission_error":
			err.Code, err.Transient = llm.CodeProviderAuth, false
		case "insufficient_quota", "exceeded_current_quota_error": // a 429 that no wait will cure
			err.Code, err.Transient = llm.CodeProviderRateLimit, false
		case "rate_limit_exceeded", "rate_limit_error":
			err.Code, err.Transient = llm.CodeProviderRateLimit, true
		case "tool_use_failed": // Groq's: the model wrote a call that cannot be read
			err.Code, err.Transient = llm.CodeProviderUnavailable, true
		case "invalid_request_error":
			if err.Status == 0 {
				err.Code, err.Transient = llm.CodeValidation, false
			}
		}
	}
}

// tooLongTexts are what servers say, without a code for it, of a prompt that
// does not fit. They are looked for in lower case.
var tooLongTexts = []string{
	"exceeds the available context size",         // llama.cpp
	"maximum context length",                     // vLLM, OpenRouter, Mistral
	"longer than the maximum model length",       // vLLM
	"exceeds the context length",                 // Ollama
	"exceeded max context length",                // Ollama
	"greater than the context length",            // LM Studio
	"context the overflows",                      // LM Studio, in its own words
	"maximum prompt length",                      // xAI
	"prompt is too long",                         // gateways to Anthropic
	"exceeds the maximum number of tokens",       // gateways to Gemini
	"reduce the length of the messages",          // Groq, older OpenAI
	"inputs tokens + max_new_tokens must be <= ", // TGI
}

func (e *wireError) tooLong() bool {
	said := strings.ReplaceAll(strings.ToLower(e.Message), "`", "")
	return slices.ContainsFunc(tooLongTexts, func(text string) bool { return strings.Contains(said, text) })
}
