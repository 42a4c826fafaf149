// Package heap keeps records, short runs of bytes, in large chunks outside the Go heap. The garbage
// collector neither scans nor counts these bytes, but it decides when a chunk is freed.
//
//	place ──► Chunks (of one version) ──► chunk 0  [tag len bytes|tag len bytes|···dead···|tag len bytes]
//	                                      chunk 1  [tag len bytes|            room                      ]
//	                                      nil      (dropped: older versions may still have it)
//
// A [Heap] is the single writer: it appends records with [Heap.Put], which returns a Place, and
// counts how much of each chunk is alive. [Heap.Free] marks a record as dead. [Heap.Chunks] returns
// a version: the content at that moment. A version is an ordinary Go value. Its holder may read its
// records without a time limit, beside the writer and without a lock. A chunk is filled from its
// beginning and never written twice.
//
// A chunk without live records is dropped: later versions do not have it. Compaction makes such
// chunks. It appends the live records of the chunk with the most dead bytes once more. The owner of
// the records stores their new places in its next version. Earlier versions are unaffected.
//
// The garbage collector finds a chunk that no version refers to, and a cleanup unmaps its memory.
// So readers are not counted, and readable memory is never overwritten. In return a dropped chunk
// waits for the next collection. [Relieve] starts one before too many wait.
//
// The bytes of a chunk are visible only within [Chunks.Read], which keeps the chunk alive until its
// callback returns. Where memory cannot be mapped, chunks are Go memory without pointers.
package heap
