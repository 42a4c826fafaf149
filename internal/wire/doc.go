// Package wire parses what the API server sends, without building objects. It splits lists and
// watches into single objects as they arrive, scans their headers and reads single fields. It decodes
// an object only on request. It also encodes objects for writes.
//
//	list body  ──> List.Take ──> Raw ─┬─> Header        the metadata the framework needs
//	watch body ──> Watch.Take ─> Raw ─┼─> Path.Values   single fields, for indexes
//	               (type, status,     ├─> Project       the fields of a struct, for views
//	                bookmark)         ├─> CutManagedFields
//	                                  └─> Decode        an object that belongs to the caller
//
// Take parses the bytes that were read. If the next object is not complete, it returns [ErrIncomplete]; Fill then
// reads once. Next does both.
//
// Two encodings are read, JSON and Kubernetes protobuf. The bytes of a [Raw] are those of the
// object itself, without the protobuf envelope.
//
// Memory: a list or watch holds one object at a time, at most [Limits].Frame bytes of it.
//
// Errors: a *[DecodeError] concerns one object, and the stream goes on. Every other error ends the
// stream. [io.EOF] is its regular end. A *[TruncatedError] is an end within a value, and a *[SyntaxError] is
// invalid input. Others are *[TooLargeError], *[KindError], *[StatusError], *[EventTypeError] and
// *[ContentTypeError]. Errors of the body, such as a reset connection, are wrapped. Bad input never panics.
package wire
