// Package decode turns the bytes of objects into Go values. Results equal those of the stock
// decoders, with a fraction of their allocations.
//
// Call [JSON] or [Protobuf] with the bytes and a pointer to a zero value. They fill the value and
// return the stock decoder's error. [RestoreJSON] and [RestoreProtobuf] put back the fields that
// the Go type does not have before an object is sent.
//
//	Go type ── once ──► table: one step for each field, and what memory the last object took
//	                      │
//	bytes ────────────────┴──► values; short strings are copied into small pieces,
//	                           values of one type share pieces of memory
//	      anything unusual ──► the stock decoder, from the beginning
//
// The fast path handles only well-formed documents that fit their type. All others go to the stock
// decoder: a repeated field, a number out of range, a syntax error. So results and errors are equal
// by construction.
//
// A caller that owns the bytes of a large object hands them over ([ProtobufOwned], [JSONOwned]), and long
// strings are not copied. Small objects are better decoded from a reused buffer.
//
// A part of an object that is kept keeps a bounded amount of the rest alive. A string keeps at most
// 192 bytes or eight times its own length. A value behind a pointer or in a list keeps at most 1 KiB
// of other values of its type, and what these point to.
package decode
