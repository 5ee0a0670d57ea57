// Package httpauth says who makes an HTTP request, and whether they may.
//
// A caller is known by a bearer token or by the cookie that the login page gives
// for one. Without any token in the configuration the listener is for this machine
// alone, and everybody on it may do all. A browser sends a cookie, and reaches the
// loopback address, on behalf of any page: such requests count only when they come
// from a page of this host.
package httpauth
