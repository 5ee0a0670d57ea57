// Package doors is what the protocols share by which programs reach agents.
//
// A Desk takes requests at one door and follows what becomes of them: each is an
// inbound message on the door's channel, so the run behind it is durable, and who
// asked may go away and come again with the same id. The protocols themselves are
// the packages below this one.
package doors
