// Package child creates the objects that belong to another object, keeps them as desired, and deletes
// those that are no longer wanted.
//
//	d, did, err := child.Ensure(ctx, c, guestbook, deploymentOf(guestbook))
//	if child.IsTaken(err) { … } // somebody else's object has the name
//	_, err = child.Prune(ctx, c, guestbook, func(s *corev1.Service) bool { return s.Name == front })
//
// [Ensure] returns the child and what it did: created, updated or nothing. [Prune] returns the keys of
// the children that it deleted. Call both at every reconcile: nothing is sent while nothing differs.
//
//	desired ──► owner reference ──► compare with the child, as the client reads it (the cache)
//	                                  │
//	                                  ├─ nothing differs ──────────► nothing is sent
//	                                  ├─ it is not ours ───────────► *TakenError
//	                                  ├─ it differs ───────────────► one server-side apply
//	                                  └─ absent ──► ask the server; absent there, too ──►
//	                                                one server-side apply that creates or fails
//
// [Once] is for a child with values that are generated: it is created, and left alone afterwards.
//
// # What differs
//
// desired sets the wanted fields and nothing else. A field that it does not set belongs to the server's
// defaults and to others, as the replicas of a Deployment belong to an autoscaler. A field that it sets
// must have that value in the child, whatever else is there. A field that it no longer sets must be given
// up.
//
// The managedFields of the child decide both. They have exactly the fields of our last apply that nobody
// has changed since. The comparison walks desired along them. In maps and lists that the schema merges it
// compares what we own: each element by its keys, in our order. Atomic maps and lists must be equal as a
// whole. Values that the server fills in are not ours, so they are no difference.
//
// An unstructured desired may have zero values that the server drops, such as paused: false. They are as
// desired if the child lacks the field. This holds for kinds that travel as protobuf, because the server
// decodes those into the Go type of the scheme. Servers of other kinds keep zero values.
//
// A cache cuts managedFields unless its options say otherwise, as cache.KindOptions can. So every apply
// has the annotation flyball.io/applied, a hash of desired. Without managedFields the hash shows that
// desired has given up fields, and every field that desired sets must be in the child. A list may then
// have other elements between ours, except a list of plain values.
//
// A server or webhook may make the same difference again each time, for example by rewriting a value.
// Each call then applies, which changes nothing and causes no event. The logger of the reconcile names
// the field at level Debug.
//
// # Moving from updates
//
// The server remembers who set each field, and by which operation. An apply does not own fields that the
// operator wrote by creates and updates, so no apply removes them. [TakeOver] names the managers of such
// writes. [Kept] reports fields that stay because others own them.
//
// # What is ours
//
// An object is ours if its controller reference has the uid of the owner. An earlier or later object of
// the owner's name has another uid. Ensure and Prune change no other objects. An apply to a child that was
// read has its uid, and so has each delete, so that they cannot hit another object of the name. An apply
// to a child that was not found creates it or fails; see [client.IfAbsent]. So Ensure never takes over an
// object of others that the cache does not hold.
package child
