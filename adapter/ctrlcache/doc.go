// Package ctrlcache is the packed cache of Flyball in programs of controller-runtime, by one line:
//
//	mgr, err := ctrl.NewManager(cfg, ctrl.Options{NewCache: ctrlcache.New})
//
// Objects are held as packed bytes outside the Go heap, in a twentieth of the memory or less, and decoded
// when somebody reads them. Everything else stays: clients, builders, handlers, predicates, indexes, and
// cache.Options. Of these New refuses NewInformer, which [Options] can ignore, a selector that selects
// nothing, and a kind that is given twice.
//
//	API server ──► reflector ──► packed store ──┬──► Get, List      (decoded into what the caller owns)
//	                                            └──► event handlers (decoded once for all of them)
//
// What differs from the default cache:
//   - A read is always a copy that belongs to the caller. UnsafeDisableDeepCopy is accepted and saves nothing:
//     with it, a list of 3,001 Pods takes fifty times as long as the default cache's, and ProjectList three times as long.
//   - An object that cannot be decoded does not stop its kind. A List returns the good ones and an error that
//     names the others; a Get of it is an error; handlers get its next good state. OnProblem reports it.
//   - A handler that cannot keep up costs memory by the number of keys. See [Options.HandlerBacklog].
//   - A delete and a create of one name are always two events, with two UIDs.
//   - A transform returns the type that it gets. A panic of an index function, transform or handler is
//     reported and ends nothing.
//   - Watches always ask for bookmarks.
//
// [Options] has what only Flyball has: memory budgets, a hook for problems, cut managedFields. A program
// reaches headers, views and statistics through the type [Cache]:
//
//	packed := mgr.GetCache().(*ctrlcache.Cache)
//	for h, err := range packed.Headers(ctx, &corev1.PodList{}) { … }
//
// The metrics flyball_cache_… are registered in the registry of controller-runtime.
package ctrlcache
