// Package discovery holds Flyball's discovery beside client-go's: both ask the same server, a real
// one or one that serves what a seed makes, and must give the same answer to every question of a
// meta.RESTMapper, errors included.
package discovery
