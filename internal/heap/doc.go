// Package heap keeps records, short runs of bytes, in large chunks outside the Go heap: the garbage
// collector neither scans them nor counts them. It decides when a chunk is given back.
//
//	place ──► Chunks (of one version) ──► chunk 0  [tag len bytes|tag len bytes|···dead···|tag len bytes]
//	                                      chunk 1  [tag len bytes|            room                      ]
//	                                      nil      (dropped: older versions may still have it)
//
// A chunk is filled from its beginning and never written twice. A [Heap] is the writer: it appends
// records, and counts how much of each chunk is alive. [Heap.Chunks] is a version: what the heap had
// at that moment. It is an ordinary Go value, and whoever has one may read the records that it names
// for as long as wanted, beside the writer and without a lock.
//
// A chunk without living records is dropped: versions to come do not have it. Compaction makes
// such chunks: it appends what is alive in the chunk with the most dead bytes once more, and has the
// owner of the records note their new places, in its next version. Nothing is moved for versions that
// were made before.
//
// A chunk that no version has any more is found by the garbage collector, and its memory is unmapped
// by a cleanup. So nobody counts readers, and nothing that could be read is ever overwritten. In
// return a dropped chunk waits for the next collection. [Relieve] sees to it that there is one before
// too many wait.
//
// Bytes of a chunk are seen only within [Chunks.Read], which keeps the chunk until its callback has
// returned. Where nothing can be mapped, chunks are Go memory without pointers.
package heap
