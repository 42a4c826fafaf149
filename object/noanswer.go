package object

import "errors"

// ErrNoAnswer marks errors of reads and reviews that tell nothing about the objects: whether they
// exist is unknown. The cache has not synced, the server does not answer, or this program lacks
// permission. Test with errors.Is:
//
//	errors.Is(err, object.ErrNoAnswer)
//
// It is true for such errors of packages client, informer, cache and store, however they are
// wrapped. It is false for a NotFound, which is an answer, and for an Invalid. A webhook that
// returns such an error has no verdict; see package webhook.
//
// An error type of a program takes part with a method Is that returns true for this value.
var ErrNoAnswer = errors.New("no answer")
