// Package reflector mirrors one kind of object, or a selection of it, from an API server into a
// [Sink]. It lists once, then watches from the version of the list. After a failure it resumes the watch.
// It lists again if the watch cannot resume or may have lost events.
//
//	        ┌──────────── Reflector.Run, one goroutine ────────────┐
//	Source ─┼─► take ───────► step ───────► apply ────────────────┼─► Sink
//	   ▲    │   complete      core.Step,    updates                │
//	   │    │   objects       pure                                 │
//	   └────┼── fill ◄─────── commit ◄───── no further complete    │
//	        │   reads once                  object                 │
//	        └──────────────────────────────────────────────────────┘
//
// The core makes every decision. It has no goroutine, lock, clock or context. Each Step(now, random,
// input) returns updates for the sink and the next action. [Reflector] is the loop around it.
//
// What follows each failure:
//
//	the watch ends regularly                   resume at once
//	it breaks, is cut in a frame, is refused,  resume after a backoff
//	  gets a 429 or 5xx, or ends within 1 s
//	  without an event
//	it ends or breaks within 1 s, repeatedly,  resume four times a second; after a few seconds list,
//	  with new events                            to catch up
//	neither an object nor a newer version      resume at once
//	  comes for 30 s
//	nothing comes for half a minute, though    list the newest version; if the watch lost events, not
//	  the server has a newer version             in sync until the watch shows a newer version
//	unreadable bytes in the stream             as a broken watch; twice at one version: list
//	a server error in the stream               as a broken watch; four times at one version: list
//	an event without a readable key, or of     list the newest version; if it happens again, not in
//	  another kind or namespace; the server      sync until a watch works
//	  cannot read an object from its storage
//	410 on the watch                           list, not older than the last version
//	410 or "too large" on the list             list the newest version at once, one time
//	410 between two pages                      list anew, in one page
//	streaming list is refused or fails, or     list in pages at once; stream again after a minute,
//	  does not end                               then two, … up to an hour
//	the pages of a list do not end             list in one page after a backoff
//	a list of another kind, or with more       list again after a backoff; the content stays
//	  objects without a key than before
//	versions go back                           list the newest version, twice; then reset to it
//	versions go back in events only,           stop comparing versions of different objects
//	  repeatedly
//	an audit is due                            list exactly the version of the watch; resume the watch
//	                                             if that fails
//	403                                        retry after 30 s; after a 403 on a streaming list
//	                                             list in pages first, which a role may allow
//	404, 405                                   ask discovery, without caches. The kind is unavailable
//	                                             until the next complete list, however long. Only the
//	                                             proof that its CustomResourceDefinition is gone
//	                                             empties the sink
//	a web page instead of a list, three times  unavailable as well
//
// Lists and watches share the backoff: 0.8 s doubling to 30 s, with full jitter. After two good minutes it
// starts anew. It is never shorter than the server asks for. It does not grow while the failing watches
// bring new events.
package reflector
