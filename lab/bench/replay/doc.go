// Package replay serves lists and watches of a corpus from bytes that were encoded before. So a
// benchmark measures the client and not the server.
//
//	corpus ── Record ──► Tape (a file, mapped: the bytes of every object and of every change)
//	                       │
//	GET …/pods             ├──► list: whole, or page by page
//	GET …/pods?watch=1     └──► watch: bookmarks, and what Play releases, at a rate or flat out
//
// A corpus may have several kinds. They share one sequence of versions, and a watch sees those of its
// kind.
//
// A tape is made once for each corpus and form, and stored in the user's cache directory. For the
// contenders the server behaves like a real API server. It has paged and streaming lists in the
// order of the keys, protobuf, JSON and metadata-only. It sends bookmarks, and 410 after Forget.
package replay
