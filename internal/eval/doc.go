// Package eval looks at runs from their logs, and at costs from a configuration:
// replay by the run machine, the same inputs to another model, the comparison of
// an agent with its shadow, the events as lines for people, and what heartbeats
// would cost. It needs no running host and changes nothing.
package eval
