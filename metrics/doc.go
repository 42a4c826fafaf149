// Package metrics tells Prometheus what a program does, from a registry of its own.
//
//	pushed, as it happens                              asked for, at each scrape
//	controller.Hooks ──┐                          ┌── cache.Watches, QueueStats, State
//	client.Options.Hook┼──► counters, ──► registry ◄── collector ──┼── who leads, certificates
//	webhook.Hooks ─────┘    histograms      │     └── events, servers
//	                                        ▼
//	                                     Handler
//
// What is the same thing as in controller-runtime or client-go has the same name and the same labels,
// so that dashboards and alerts go on working: controller_runtime_*, workqueue_*, rest_client_*,
// leader_election_master_status, certwatcher_*. What is new is flyball_*.
//
// Labels are bounded: names of controllers, webhooks, servers, leases and certificates, which the
// program gives; kinds; and values of closed sets. No label has the name of an object, a namespace or
// a URL in it. What is taken away from the program loses its series.
//
// Nothing here is global: two programs in one process have a [Metrics] each.
package metrics
