// Package webhook serves admission webhooks: defaulters, which set defaults in objects before they
// are stored, and validators, which reject objects. [Default] and [Validate] decode the objects and
// register with a manager:
//
//	err := webhook.Default[shopv1.Order](mgr, defaulter)    at /mutate-shop-example-com-v1-order
//	err := webhook.Validate[shopv1.Order](mgr, validator)   at /validate-shop-example-com-v1-order
//
// [NewDefaulter], [NewValidator], [NewMutating] and [NewValidating] return an [Endpoint]. It is an
// http.Handler for any server that speaks TLS. This package neither makes certificates nor
// registers webhooks with the API server.
//
//	AdmissionReview ─► Request ─► decoded object(s) ─► Default ──► JSON patch ──┐
//	 (v1, v1beta1)       │                        └──► Validate… ─► warnings, ──┼─► AdmissionReview
//	                     └─► Handler: no decoding ────► Response ──  denial  ───┘   (same version)
//
// # Verdicts and failures
//
// A verdict is the handler's decision about an object. It is sent with status code 200, and the API
// server obeys it. [Denied] documents how an error becomes a denial.
//
// A webhook that fails gives no verdict, and the API server applies the failurePolicy of the
// configuration. A webhook fails in these cases:
//
//   - The handler panics or exceeds its time.
//   - Too many requests run at once.
//   - The request cannot be read.
//   - The handler cannot get information that it needs, for instance from a cache that has not
//     synced. [Failed] lists the errors that mean this.
//
// # Bounds
//
// [Limits] bounds one endpoint; [Budget] bounds the memory of all large request bodies together. Method,
// content type and length are checked before a body is read. A body is cut off at its limit and after
// its time. The handler's context ends a little before the API server gives up. If the handler goes
// on after that, the endpoint answers without it.
//
// # Patches
//
// A defaulter changes a Go value. The answer carries the difference between the value before and
// after, as a patch of the object that was sent. Fields that the Go type does not know stay
// unchanged. Fields that only encoding adds (status: {}) are not in the patch. There is no patch if
// nothing changed.
package webhook
