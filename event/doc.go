// Package event records Kubernetes Events (events.k8s.io/v1): what a controller did to an object,
// or failed to do, for people to read in kubectl describe.
//
// [New] makes a [Recorder] for a client. [Recorder.Run] sends events until its ctx ends.
// [Recorder.Event] records an event; it never blocks and returns no error. [Recorder.Stats] counts
// sent and dropped events.
//
//	Event ──► Core: one series for each (regarding, related, type, reason, action) ──► Run ──► server
//	never       ready: Warnings before Normals          bounded                       create once,
//	blocks      sent: repeats are counted                                             then patch
//	                                                                                  series.count
//
// Events are for people and may be lost. Recording never blocks and never fails. Memory and rate
// are bounded, and dropped events are counted. When there are too many, Normals are dropped before
// Warnings. Nothing may depend on the arrival of an event.
package event
