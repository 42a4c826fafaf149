// Package finalizer runs a clean-up before an object is deleted.
//
// [Run] adds the finalizer, or runs the clean-up and removes the finalizer. It returns the object
// to reconcile, or nil if the reconcile must end with [Result]:
//
//	g, err := finalizer.Run(ctx, c, g, "webapp.example.com/cleanup",
//		finalizer.Do("release the address", r.release),
//		finalizer.Do("archive the entries", r.archive))
//	if g == nil {
//		return finalizer.Result(err)            // nothing more to do for this object
//	}
//	…                                               // it lives, and has the finalizer
//
//	             has the finalizer?   returns
//	lives        no ── add it ──────► the object as it is then
//	             yes ───────────────► the object
//	being        yes ── step 1 … n ─► nil; the finalizer is removed after the last one
//	deleted      no ────────────────► nil
//
// Continue only with the object that Run returns. Run returns nil where the reconcile must end. A
// reconciler that continued after its finalizer was removed would create its children again, and
// nothing would delete them.
//
// The finalizer is on the server before Run returns the object. So everything done after that is
// cleaned up, even if the process dies in between. Run keeps no record of finished steps: after a
// crash or a failure all steps run again, from the first. Each step must find out itself whether it
// has anything to do, and must accept that it is done.
//
// Run adds and removes the finalizer by a JSON patch. The patch tests the uid, and the list of
// finalizers or the position of this one in it. It does not undo
// concurrent changes, and concurrent changes of other fields do not make it fail.
package finalizer
