// Package convert serves the conversion webhook of custom resources: it converts objects between
// the versions of their API. All versions convert to and from one of them, the hub. [Serve] takes
// the parts of all kinds and registers one handler at /convert:
//
//	err := convert.Serve(mgr,                                ServeWith, with Options
//		convert.Hub[v1.Order](),
//		convert.Spoke[v2.Order, v1.Order](toHub, fromHub),   functions, wherever they are
//		convert.SpokeByMethods[v3.Order, v1.Order](),        methods ConvertTo, ConvertFrom
//	)
//
//	ConversionReview ─► object ─► its type ──ConvertTo──► hub ──ConvertFrom──► wanted type ─► object
//	 (v1, v1beta1)      (each, in order)                   (spoke → spoke goes through the hub)
//
// [New] returns the same as an http.Handler for any server. webhook.Limits bounds it.
//
// # What a conversion must keep
//
// A conversion to another version and back must lose nothing: the API server stores an object in
// one version and serves it in others. If the hub has no field for a value, the conversion must
// keep the value elsewhere, for instance in an annotation. Package webhooktest has a fuzz test for
// that.
//
// All metadata is copied before a conversion function runs, so the function only converts the other
// fields. It may change labels and annotations. The API server rejects other changes of the
// metadata. This package rejects changes of name, namespace and uid first, with an error that names
// the field.
//
// An object with fields, outside its metadata, that the Go type of its version does not have is not converted: they
// would be lost. The error names them. In a rollout they are those of a newer definition, which an older replica does
// not know yet; the API server asks again. [Options.DropUnknown] converts without them.
// With a structural schema generated from the same types there are none: the API server prunes them on input.
//
// # Failures
//
// If one object cannot be converted, the whole review fails. The message has the index and name of
// the object. The API server cannot use a partial answer. Package webhook documents failures of the
// handler itself.
package convert
