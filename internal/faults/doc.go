// Package faults stands between a client and a server and injects faults on command.
//
//	client ── Proxy (bytes: blackhole, reset, cut)        ── server
//	client ── Gateway (requests: answer them instead)     ── server
//
// Both listen on a loopback port, or speak over pipes within the process, as tests in a bubble of testing/synctest need it.
//
// Proxy knows nothing of HTTP or TLS: its faults are those of a network. Gateway understands
// requests and may answer any of them itself, in front of a real API server.
package faults
