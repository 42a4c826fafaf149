// Package replay serves lists and watches of a corpus that were encoded before, so that what is
// measured is the client and not the server.
//
//	corpus ── Record ──► Tape (a file, mapped: the bytes of every object and of every change)
//	                       │
//	GET …/pods             ├──► list: whole, or page by page
//	GET …/pods?watch=1     └──► watch: bookmarks, and what Play lets go, at a rate or flat out
//
// A tape is made once for each corpus and form and is kept in the user's cache directory. The
// server answers as a real API server does as far as the contenders can see: paged and streaming
// lists in the order of the keys, protobuf, JSON and metadata-only, bookmarks, 410 after Forget.
package replay
