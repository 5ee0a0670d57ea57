// Package agentprotocol is the door of the agent protocol for NATS, version 0.3: each
// agent is an instance of the micro service "agents" with the endpoints prompt and
// status, and sends heartbeats.
//
// A prompt is answered on its reply subject with chunks of JSON, and at the end with a
// message without body and headers. What it says is an inbound message like any other,
// so the run behind it is durable; the answer to the caller is not, as the protocol has
// it. See docs/doors/agentprotocol.md.
package agentprotocol
