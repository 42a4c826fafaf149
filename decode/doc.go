// Package decode turns the bytes of objects into Go values, with the results of the stock decoders
// and a fraction of their allocations.
//
//	Go type ── once ──► table: one step for each field, and what memory the last object took
//	                      │
//	bytes ────────────────┴──► values; strings are cut from one buffer that belongs to the object,
//	                           values of one type share pieces of memory
//	      anything unusual ──► the stock decoder, from the beginning
//
// The fast way only knows well-formed documents that fit their type. Whatever else comes, a field
// that is there twice, a number too large, a syntax error, goes to the stock decoder, so that
// results and errors are the same by construction.
//
// A caller that has the bytes for himself hands them over ([ProtobufOwned], [JSONOwned]) and saves a
// copy. Where most of the bytes are names, as in JSON, decoding out of a buffer that is used again
// ([JSON]) is as fast and keeps less.
//
// What is kept of an object keeps a bounded part of the rest alive: a string at most 16 KiB or eight
// times its own length, a value behind a pointer or in a list at most 1 KiB of others of its type,
// and what these point to.
package decode
