// Package finalizer cleans up before an object goes.
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
// The object to go on with is the one that Run returns, and there is none where the reconcile must
// end: a reconciler that went on for an object whose finalizer it has removed would make its
// children again, with nobody left to delete them.
//
// The finalizer is on the server before Run returns the object, so whatever is done after that is
// cleaned up, also when the process dies in between. Nothing is kept about which steps are done:
// after a crash or a failure all of them run again, from the first. Each must therefore find out by
// itself whether it has anything to do, and be happy with what is gone already.
//
// The finalizer is added and removed by a JSON patch that tests what it relies on (the uid, and the
// list of finalizers, or the place of this one in it), so that what others change meanwhile is
// neither undone nor in the way.
package finalizer
