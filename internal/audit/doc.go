// Package audit finds out whether a watch has lost events: it compares a list of the metadata of all
// objects with what is held.
//
//	      a list, page by page            the watch has passed it        a second list
//	   ──► Begin, Item, Page ──► differs? ──► Look, once a second ──► differs? ──► Look ──► lost
//	▲                              │ no                               │ no               │ yes
//	└──────────────────────────────┴──────────────────────────────────┴───── Repair ◄────┘
//
// A difference alone means little: objects change while they are listed, and the watch may be behind. So
// an object counts as lost only if two lists, one after the other, show the same of it, which is not what
// is held, and if what is held stayed as it was from before the first list ended until the watch had
// passed the version of the second. What two lists show of one incarnation was so in between, too, when
// the watch had passed the first and had not shown it.
//
// [Core] has every decision, and no goroutine, lock or clock.
package audit
