package object

import "errors"

// ErrNoAnswer marks errors of reads and reviews that say nothing about the objects: neither that they
// are there nor that they are not. The cache has not synced, the server does not answer, or this
// program may not ask. Test with errors.Is:
//
//	errors.Is(err, object.ErrNoAnswer)
//
// It is true for those errors of packages client, informer, cache and store, however they are
// wrapped. It is false for a NotFound, which is an answer, and for an Invalid. A webhook that returns
// such an error has no verdict; see package webhook.
//
// An error type of a program joins in by a method Is that returns true for this value.
var ErrNoAnswer = errors.New("no answer")
