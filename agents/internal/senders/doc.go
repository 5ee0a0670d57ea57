// Package senders decides who may write to an agent, and how much: lists of senders,
// pairings that the operator approves, and rates.
package senders
