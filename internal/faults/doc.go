// Package faults stands between a client and a server and injects faults on command.
//
//	client ── Proxy (bytes: blackhole, reset, cut)        ── server
//	client ── Gateway (requests: answer them instead)     ── server
//
// Proxy knows nothing of HTTP or TLS: its faults are those of a network. Gateway understands
// requests and may answer any of them itself, in front of a real API server.
package faults
