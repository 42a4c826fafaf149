// Package cache answers reads from memory. It shares the informers of a program, by kind and
// selection, behind one client.Reader.
//
// [New] makes a cache. [Cache.Open] declares a kind and returns a [Handle] to it; [Cache.Run] runs
// the informers. [Cache.WaitForSync] waits until all open kinds can be read. [Cache.Get] and
// [Cache.List] then return decoded objects, which belong to the caller.
//
//	Open ─► Handle ─┐                      ┌─► informer of Pods ───────┐
//	                ├─ counts ─► factory ──┼─► informer of Deployments ├─► Get, List: decoded for
//	Open ─► Handle ─┘                      └─► … in each namespace ────┘    the caller, who owns it
//
// The cache holds only open kinds. A read of any other kind starts nothing and returns an
// *UndeclaredError. KindOptions.OpenOnRead makes the first read open a kind. There is no such
// default: a program that reads one Secret does not want to watch all of them.
//
// A read of a kind that has not synced returns an *informer.NotSyncedError, never an empty answer.
// A kind that the server seems to serve no longer, without its discovery having said so, returns an
// *informer.UnavailableError. EvenUnavailable of client.GetOptions then reads the held objects all the same.
package cache
