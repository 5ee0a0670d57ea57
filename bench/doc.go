// Package bench measures a host and compares it with bare JetStream: the same messages
// go through the host, and through an echo on bare JetStream, in turns, and
// what is told is one as a part of the other. Absolute figures are those of a
// machine and its mood; the ratio of one run is worth comparing.
//
// What is measured runs in processes of its own, as users have it, on stores
// that are deleted afterwards. Load and verification are in this one.
package bench
