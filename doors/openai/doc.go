// Package openai serves agents to the clients of OpenAI's API: a model is an agent,
// and a request a message for it.
package openai
