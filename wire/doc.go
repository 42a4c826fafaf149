// Package wire reads what the API server sends, without building objects: it splits lists and
// watches into single objects as they arrive, scans their headers, reads single fields, and
// decodes an object only when someone wants it. It also encodes objects for writes.
//
//	list body  ──> List.Next ──> Raw ─┬─> Header        the metadata the framework needs
//	watch body ──> Watch.Next ─> Raw ─┼─> Path.Values   single fields, for indexes
//	               (type, status,     ├─> Project       the fields of a struct, for views
//	                bookmark)         ├─> CutManagedFields
//	                                  └─> Decode        an object that belongs to the caller
//
// Two encodings are read, JSON and Kubernetes protobuf. The bytes of a [Raw] are those of the
// object itself: the protobuf envelope is taken off.
//
// Memory: a list or watch holds one object at a time, at most [Limits].Frame bytes of it.
//
// Errors: a *[DecodeError] concerns one object, and the stream goes on. Every other error ends the
// stream: [io.EOF] is its regular end, *[TruncatedError] says that it was cut, *[SyntaxError] that
// it is garbage, *[TooLargeError], *[KindError], *[StatusError], *[EventTypeError] and
// *[ContentTypeError] what their names say. Errors of the body itself, such as a reset connection,
// come through wrapped. There is no panic for bad input.
package wire
