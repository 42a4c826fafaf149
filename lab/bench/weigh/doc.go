// Package weigh measures "flyball weigh" on a recorded cluster, beside a cache that holds the same
// objects.
package weigh
