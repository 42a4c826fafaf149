// Package measure runs all contenders through the cases, each in its own process, in turn, and all of
// them several times. It compares the medians of the figures with one another, with the goals, and
// with the least that is possible.
//
//	Build: a program for each library ──► Run: a replay server ◄── HTTP ── a contender's process
//	                                              │  ▲                        │ (package contend)
//	                                              │  └── answers: CPU, bytes ◄┘
//	                                              └───── commands: sync, handled, retained, reads, …
//
// Each case is a file. Most share the first process of a contender: the cost of holding the
// objects, updates, reads, a relist. A case that would distort the others has its own process.
package measure
