// Package child makes the objects that belong to another one, keeps them as they should be, and
// deletes those that are no longer wanted.
//
//	d, did, err := child.Ensure(ctx, c, guestbook, deploymentOf(guestbook))
//	_, err = child.Prune(ctx, c, guestbook, func(s *corev1.Service) bool { return s.Name == front })
//
//	desired ──► owner reference ──► compare with the live one, as the client reads it (the cache)
//	                                  │
//	                                  ├─ nothing differs ──────────► nothing is sent
//	                                  ├─ it is not ours ───────────► *OwnedError, *UnownedError
//	                                  ├─ it differs ───────────────► one server-side apply
//	                                  └─ absent ──► the server is asked; absent there, too ──►
//	                                                one server-side apply that changes no object
//
// # What differs
//
// desired says what is wanted and nothing else: a field that it does not set is left to the server's
// defaults and to others, such as the replicas of a Deployment to an autoscaler. A field that it
// sets must have that value in the live object, whatever else stands beside it; and what it does not
// set any more must be given up.
//
// The managedFields of the live object tell both: they hold exactly the fields of our last apply
// that nobody has changed since. desired is walked along them. Maps and lists that the schema
// merges are compared by what we own in them, each element by its keys and in our order; atomic
// ones as a whole. That what the server fills in looks like no difference follows from this: it is
// not ours.
//
// An unstructured desired may hold zero values that the server drops, such as paused: false. They are
// as wanted where the live object has none: for kinds that travel as protobuf, which the server
// decodes into the Go type of the scheme. Other servers keep what they are given.
//
// A cache cuts managedFields unless it is told to keep them, as cache.KindOptions can. So every apply
// has the annotation flyball.io/applied, a hash of desired: without managedFields, what desired no
// longer sets shows as another hash, and every field that it sets must be in the live object. The
// elements of a list may then have others between them, except in a list of plain values.
//
// A difference that the server or a webhook makes anew each time, such as a value that is
// rewritten, is applied at each call; it changes nothing, and so wakes nobody. The logger of the
// reconcile tells, at level Debug, which field it was.
//
// # Moving from updates
//
// The server remembers who set each field, and how. What an operator wrote by creates and updates is
// not owned by an apply, so no apply removes it. [TakeOver] names who wrote so; what stays since others
// own it is reported, see [Kept].
//
// # What is ours
//
// An object is ours when its controller is this very owner, by uid: not another of the same name
// that lived before or will after it. All else is left alone. Each apply to an object that was seen
// has its uid with it, and each delete, so that it does not hit another of that name. An apply to
// an object that was not seen creates it or fails, see [client.IfAbsent]: a cache that does not hold
// somebody's object never has us take it over.
package child
