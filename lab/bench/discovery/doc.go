// Package discovery compares Flyball's discovery with client-go's. Both ask the same server, a real
// one or one generated from a seed. Both must give the same answer to every question of a
// meta.RESTMapper, errors included.
package discovery
