// Package ctrl runs what was written for controller-runtime on a manager of Flyball, beside its own
// controllers. Programs that use both packages named ctrl call this one flyctrl.
//
// A program moves with one line, the one that makes its manager; see [NewManager]:
//
//	mgr, err := flyctrl.NewManager(ctrl.GetConfigOrDie(), flyball.Options{Scheme: scheme})
//	err = (&WebsiteReconciler{Client: mgr.GetClient(), Scheme: mgr.GetScheme()}).SetupWithManager(mgr)
//	err = mgr.Start(ctrl.SetupSignalHandler())
//
// Then its controllers move one at a time, each by its SetupWithManager; see [Reconciler] and [Watches]:
//
//	_, err = controller.New(mgr.Flyball, "website", flyctrl.Reconciler(r),
//		flyctrl.For[webv1.Website](predicate.GenerationChangedPredicate{}),
//		flyctrl.Owns[appsv1.Deployment](),
//		flyctrl.Watches[corev1.ConfigMap](handler.EnqueueRequestsFromMapFunc(r.sitesOf)))
//
// The reconcilers stay as they are. They read and write by [NewClient], log by log.FromContext, and record
// Events by [NewEventRecorder].
//
//	             ┌── builder, Controller of controller-runtime ──┐
//	Reconciler ──┤                                               ├──► packed cache, lease, servers of Flyball
//	             └── controller.New of Flyball ──────────────────┘
//
// What differs from controller-runtime:
//   - The cache holds the kinds that a controller watches, or that a program opens in flyball.Manager.Cache. The
//     server answers reads of other kinds, one request for each. No read starts a watch, unless the option
//     OpenOnRead of the kind says so.
//   - A kind that is held and has not synced is an error, never an empty answer.
//   - Unstructured objects are read from the cache, too, if their kind is held.
//   - Writes of a program that has lost its lease never leave the process.
//   - The cache cuts managedFields, unless cache.Options.KeepManagedFields is set. Extract functions of apply
//     configurations need them.
//
// An operator that stays with controller-runtime can use the packages child, condition and finalizer of Flyball
// by [ForHelpers].
package ctrl
