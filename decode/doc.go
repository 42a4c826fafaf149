// Package decode turns the bytes of objects into Go values, with the results of the stock decoders
// and a fraction of their allocations.
//
//	Go type ── once ──► plan: one step for each field
//	                      │
//	bytes ────────────────┴──► values; slices are counted before they are made, strings are cut
//	                           from a few buffers that belong to the object
//	      anything unusual ──► the stock decoder, from the beginning
//
// The fast way only knows well-formed documents that fit their type. Whatever else comes, a field
// that is there twice, a number too large, a syntax error, goes to the stock decoder, so that
// results and errors are the same by construction.
//
// Protobuf is read the same way, by a table for each Go type.
//
// The strings of one object share buffers: one string that is kept keeps the buffer it stands in,
// which is at most 4 KiB or the string itself.
package decode
