// Package crash names the places at which tests of the crash table kill the process.
// Without the build tag crashtest they are nothing.
package crash
