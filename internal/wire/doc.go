// Package wire parses what the API server sends, without building objects. It splits lists and
// watches into single objects as they arrive, scans their headers and reads single fields. It decodes
// an object only when someone wants it. It also encodes objects for writes.
//
//	list body  ──> List.Take ──> Raw ─┬─> Header        the metadata the framework needs
//	watch body ──> Watch.Take ─> Raw ─┼─> Path.Values   single fields, for indexes
//	               (type, status,     ├─> Project       the fields of a struct, for views
//	                bookmark)         ├─> CutManagedFields
//	                                  └─> Decode        an object that belongs to the caller
//
// Take parses what has come, and reads nothing. When nothing further is complete it returns [ErrIncomplete];
// then Fill reads once. Next does both, for those who need nothing done before a read.
//
// Two encodings are read, JSON and Kubernetes protobuf. The bytes of a [Raw] are those of the
// object itself: the protobuf envelope is taken off.
//
// Memory: a list or watch holds one object at a time, at most [Limits].Frame bytes of it.
//
// Errors: a *[DecodeError] concerns one object, and the stream goes on. Every other error ends the
// stream. [io.EOF] is its regular end; *[TruncatedError] says that it was cut, *[SyntaxError] that
// it is garbage. *[TooLargeError], *[KindError], *[StatusError], *[EventTypeError] and
// *[ContentTypeError] say what their names say. Errors of the body itself, such as a reset connection,
// come through wrapped. There is no panic for bad input.
package wire
