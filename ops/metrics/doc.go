// Package metrics exposes the figures of a program to Prometheus, from a registry of its own. Make
// a [Metrics] with [New], connect it, and serve [Metrics.Handler]:
//
//	m := metrics.New(metrics.Options{})
//	options.Hooks = m.Controller("order", workers)    counts, for controller.Options
//	remove, err := m.AddController(c)                 queue and state, read at each scrape
//	http.Handle("/metrics", m.Handler())
//
//	pushed, as it happens                              asked for, at each scrape
//	controller.Hooks ──┐                          ┌── cache.Watches, QueueStats, State
//	client.Options.Hook┼──► counters, ──► registry ◄── collector ──┼── who leads, certificates
//	webhook.Hooks ─────┘    histograms      │     └── events, servers
//	                                        ▼
//	                                     Handler
//
// A metric that controller-runtime or client-go has, too, has the same name and labels here:
// controller_runtime_*, workqueue_*, rest_client_*, leader_election_master_status, certwatcher_*.
// Dashboards and alerts continue to work. All other metrics are flyball_*.
//
// Labels are bounded. Their values are names of controllers, webhooks, servers, leases and
// certificates, which the program gives; kinds; and members of closed sets. No label contains the
// name of an object, a namespace or a URL. The series of a removed part are removed.
//
// Nothing here is global: two programs in one process have a [Metrics] each.
package metrics
