// Package cache answers reads from memory: informers by kind and selection, behind one
// client.Reader.
//
//	Open ─► Handle ─┐                      ┌─► informer of Pods ───────┐
//	                ├─ counts ─► factory ──┼─► informer of Deployments ├─► Get, List: decoded for
//	Open ─► Handle ─┘                      └─► … in each namespace ────┘    the caller, who owns it
//
// Only what someone opened is held. A read of any other kind is an *UndeclaredError and starts
// nothing, unless the options say of that kind, by its name, that the first read opens it: a
// program that reads one Secret does not want to watch all of them. A read before the kind has
// synced is an *informer.NotSyncedError, never an empty answer. One of a kind that the server seems
// not to serve any more, without its discovery having said so, is an *informer.UnavailableError;
// client.EvenUnavailable reads what is held all the same.
package cache
