// Package condition writes the status of an object, its conditions and all other fields, in one
// patch. It sends nothing if nothing has changed.
//
// [Begin] records the object as it was read. [Status.True], [Status.False] and [Status.Summarize]
// set conditions. [Status.Patch] sends the changes and returns nil, or a *client.ConflictError if
// the object has changed on the server:
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
// A merge patch replaces a list as a whole, so two writers of conditions would undo each other's
// changes. The patch therefore holds only for the resourceVersion that was read. A reconcile that
// decided on an outdated object writes nothing, and decides again.
//
// The time of a condition's last transition changes only with its status. Messages should state
// facts, not times or counts: a message that differs at every reconcile is written at every
// reconcile. The same holds for a field that the server defaults and the reconciler leaves empty.
package condition
