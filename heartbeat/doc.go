// Package heartbeat wakes agents without anybody having said anything: by
// heartbeats, by schedules and by reminders.
//
// A [Pulse] tells at a steady pace, for every agent with a heartbeat, that this
// host serves it, and publishes the ticks that may become runs. All hosts of a
// fleet publish the same tick under the same id, so the stream keeps one; who
// serves the agent asks [Beats] what the tick comes to.
//
// A [Keeper] keeps the schedules of the configuration and the reminders. What
// there is stands in the bucket AGENT_SCHEDULES, with the time at which it is
// due next. That next firing, and only that, is held by the NATS server as a
// message schedule: it fires whether a host runs or not, and while no host runs
// nothing piles up behind it. Every Keeper of the fleet arms the same firing
// under the same id, so that who comes first does it and the others change
// nothing.
//
// A [Watcher] tells agents of messages on the subjects that they subscribe to.
//
// Constructors start nothing. Run blocks, and returns after its last goroutine.
package heartbeat
