// Package heap keeps records, short runs of bytes, in large chunks outside the Go heap: the garbage
// collector neither scans them nor counts them. What is dead is compacted in small steps, and empty
// chunks go back to the system. One goroutine writes, any number read without a lock.
//
//	Ref ──► table ──► chunk 0  [ref len bytes|ref len bytes|·······dead·······|ref len bytes]
//	        4 B each  chunk 1  [ref len bytes|ref len by …                       room ……… ]
//	                  chunk 2                          (empty: its pages are the system's)
//
// # Design
//
// A log with small-step cleaning, not size classes. Records are appended to a chunk of 1 MiB; when
// more than a fifth of all is dead, the records of the chunk with the most dead bytes are copied to
// another one and the chunk is given back. Size classes would not move anything, but after nine of
// ten records went their pages would all be a tenth full and could not be given back.
//
// A [Ref] names a record for its whole life: the table says where it is now. So compaction does not
// concern whoever keeps the Ref, also in a snapshot that cannot be changed any more. A record costs
// 8 bytes of header, 4 of table, and up to 7 because it begins at a multiple of 8.
//
// Bytes that a reader may be looking at are never moved or overwritten. Compaction copies, changes
// the table, and gives the old chunk back when all readers that were there before have gone. Two
// kinds of guards say that a reader is there, both are two atomic additions:
//
//	Pin   short: while bytes are looked at. Old chunks and freed records wait for it.
//	Hold  long: while Refs are kept, as in a snapshot. Freed records wait for it, chunks do not:
//	      compaction goes on beside a Hold of minutes.
//
// The steps of compaction are part of [Heap.Put] and [Heap.Free], in proportion to their bytes and
// never more than 32 kB copied or a quarter of a chunk given back. [Heap.Step] does more of them when there is
// nothing to write.
//
// Memory is mapped in ranges of 16 to 256 MiB, so that a program has few mappings; their pages exist
// once they are written. Where nothing can be mapped, chunks are ordinary Go memory.
package heap
