// Package fastjson does with JSON what a host does for every message, faster
// than encoding/json. What it has no short way for it leaves to that: it never
// accepts or writes anything else.
package fastjson
