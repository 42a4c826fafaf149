// Package event records Kubernetes Events (events.k8s.io/v1): what a controller did to an object,
// or failed to do, for people to read in kubectl describe.
//
//	Event ──► Core: one series for each (regarding, related, type, reason, action) ──► Run ──► server
//	never       ready: Warnings before Normals          bounded                       create once,
//	blocks      sent: repeats are counted                                             then patch
//	                                                                                  series.count
//
// Events are for people and may be lost: recording never blocks and never fails, memory and rate
// are bounded, and what had to be dropped is counted. When there is too much, Warnings are kept
// and Normals go. Nothing must depend on an event having arrived.
package event
