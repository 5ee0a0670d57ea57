// Package httpapi serves the operations of package control over HTTP, below /api/,
// with a description of them in OpenAPI and a stream of events. It decides nothing:
// what an operation does, and for whom, is said in the table.
package httpapi
