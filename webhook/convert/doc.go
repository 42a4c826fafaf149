// Package convert serves the conversion of custom resources between the versions of their API,
// through one of them, the hub:
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
// All kinds of a program are served at one path, /convert. The handler is a plain http.Handler, see
// [New], within the bounds of [Limits].
//
// # What a conversion must keep
//
// Going to another version and back must lose nothing: the API server stores an object in one
// version and is asked for it in another. What the hub has no field for must be kept in one that it
// has, such as an annotation. Package webhooktest has a fuzz test for that.
//
// The metadata is copied before a conversion function runs, all of it, so that the function only
// cares for what is different. It may change labels and annotations; the API server refuses other
// changes of the metadata, and so does this package, earlier and by name, for name, namespace and
// uid.
//
// Fields that the Go type of a version does not have are lost on the way. With a structural schema
// that is made from the same types there are none: the API server prunes them when an object comes
// in.
//
// # Failures
//
// If one object cannot be converted the whole review fails, with the index and name of the object
// in the message: the API server has no use for a part. See package webhook for what happens when
// the handler itself fails.
package convert
