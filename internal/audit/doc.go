// Package audit detects events that a watch has lost: it compares a list of the metadata of all
// objects with the stored states.
//
//	      a list, page by page            the watch has passed it        a second list
//	   ──► Begin, Item, Page ──► differs? ──► Look, once a second ──► differs? ──► Look ──► lost
//	▲                              │ no                               │ no               │ yes
//	└──────────────────────────────┴──────────────────────────────────┴───── Repair ◄────┘
//
// One difference proves nothing: objects change during a list, and the watch may be behind. An
// object counts as lost only under two conditions. Two successive lists show the same of it, and
// not the stored state. The stored state does not change from the end of the first list until the
// watch has passed the version of the second. What two lists show of one incarnation was also true
// in between. The watch had passed the first list by then, and had not shown it.
//
// [Core] makes every decision, and has no goroutine, lock or clock. [Run] makes one audit with it.
package audit
