// Package reflector mirrors one kind of object, or a selection of it, from an API server into a
// [Sink]: a list once, then a watch from the version of the list, and on any failure a resumed
// watch or, if there is no other way, another list.
//
//	        ┌──────────────── Reflector.Run, one goroutine ────────────────┐
//	        │   read               step                  act              │
//	Source ─┼─► list page, frame ─► Core ─► emissions ──► Sink ───────────┼─► delta.FIFO
//	   ▲    │   error, timer         │                                    │
//	   └────┼────────────────────────┴───► list, watch, read, wait        │
//	        └──────────────────────────────────────────────────────────────┘
//
// [Core] holds every decision: it has no goroutine, lock, clock or context, so that a run can be
// replayed from what went in. [Reflector] is the loop around it.
//
// What the Core does when something goes wrong:
//
//	the watch ended as agreed                  watch again at the same version, at once
//	it broke, was cut in a frame, refused,     wait, then watch again at the same version
//	  429, 5xx, ended within 1 s unused
//	it ended or broke within 1 s, each time,   the same, four times a second; after a few seconds
//	  and brought something                      list, to catch up
//	nothing came for 30 s                      watch again at the same version, at once
//	nothing comes, though the server has a     list what is newest; out of sync if that had what
//	  newer version, for half a minute           the watch should have shown, until it shows something
//	garbage in the stream                      as a broken watch; twice at one version: list
//	an error of the server in the stream       as a broken watch; four times at one version: list
//	an event without a readable key, or of     list what is newest; not in sync until a watch goes
//	  another kind or namespace; the server      well, if it happens again
//	  cannot read an object from its storage
//	410 on the watch                           list, not older than the last version
//	410 or "too large" on the list             list what is newest, at once, one time
//	410 between two pages                      the whole list again, in one page
//	streaming list refused or failed, or its   list in pages at once; stream again with a list that
//	  end does not come                          is a minute later, or two, … or an hour
//	its pages go round in circles              wait, then the whole list in one page
//	a list of another kind, or with more       wait, then list again: what is held stays
//	  objects without a key than before
//	versions went back                         list what is newest, twice; then start over with it
//	the same in events alone, repeatedly       take them as they come, by the versions of each object
//	somebody asks for a list (Relist)          list what is newest, at once or with the next watch;
//	                                           after three that fail the watch goes on
//	403                                        ask again after 30 s; after one on a streaming list
//	                                           list in pages first, which may be allowed
//	404, 405                                   ask discovery, made anew. The kind is unavailable
//	                                           until it is listed again, or until discovery said
//	                                           twice, 30 s apart, that no version serves it: that
//	                                           alone empties the sink
//	a page instead of a list, three times      unavailable as well
//
// Waits are shared by lists and watches: 0.8 s doubling to 30 s with full jitter, from the start
// again after two good minutes, never less than the server asked for. They do not grow while watches
// break that have brought something.
package reflector
