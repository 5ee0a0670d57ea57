// Package mcp is the door for MCP clients: each agent is a tool, over streamable HTTP
// and over stdio.
//
// A call is a message in a session of its own or in one that it names, so the run
// behind it is durable. What a run waits for is asked of the client's person where the
// client can ask, else it is the result of the call, and a later call answers it.
package mcp
