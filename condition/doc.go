// Package condition writes the status of an object: its conditions and all other fields of it in
// one patch, and no patch where nothing has changed.
//
//	st := condition.Begin(g, &g.Status.Conditions)          keeps how g was read
//	g.Status.ReadyReplicas = d.Status.ReadyReplicas         any field of the status
//	st.True("Deployed", "Applied", "Deployment %s is as wanted", d.Name)
//	st.False("Reachable", "NoEndpoints", "no Pod is ready")
//	st.Summarize("Ready", "Deployed", "Reachable")          True when all of these are
//	err := st.Patch(ctx, c)
//
//	 g as read ──┐
//	             ├──► difference of the status ──► empty: nothing is sent
//	 g as it is ─┘            │
//	                          └──► one merge patch of the status, with the resourceVersion as read
//	                                 │
//	                                 ├─ written: g is what the server answered
//	                                 └─ *client.ConflictError: somebody else wrote since; nothing is written
//
// A merge patch replaces a list as a whole, so two writers of conditions would undo each other's.
// The patch therefore holds only if the object is still the one that was read: a reconcile that
// decided on an old view writes nothing, and decides again.
//
// The time of a condition's last transition moves when its status does, and at no other time.
// Messages should say what is so, not when or how often: one that differs at every look is
// written at every look, and so is a field that the server fills in where the reconciler sets none.
package condition
