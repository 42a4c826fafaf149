// Package measure takes the contenders through the cases, each as a process of its own, in turn, in
// one run, and puts the figures side by side.
//
//	Build: a program for each library ──► Run: a replay server ◄── HTTP ── a contender's process
//	                                              │  ▲                        │ (package contend)
//	                                              │  └── answers: CPU, bytes ◄┘
//	                                              └───── commands: sync, handled, retained, reads, …
//
// A case is one file. Most share the first process of a contender: what it costs to hold the
// objects, updates, reads, a relist. Those that would spoil it for others have one of their own.
package measure
