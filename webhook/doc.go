// Package webhook serves admission: handlers that set defaults in objects before they are stored,
// and handlers that refuse them.
//
//	err := webhook.Default[shopv1.Order](mgr, defaulter)    at /mutate-shop-example-com-v1-order
//	err := webhook.Validate[shopv1.Order](mgr, validator)   at /validate-shop-example-com-v1-order
//
//	AdmissionReview ─► Request ─► decoded object(s) ─► Default ──► JSON patch ──┐
//	 (v1, v1beta1)       │                        └──► Validate… ─► warnings, ──┼─► AdmissionReview
//	                     └─► Handler: no decoding ────► Response ──  denial  ───┘   (same version)
//
// Each is an http.Handler, see [NewDefaulter], [NewValidator] and [New], and may be served by any
// server that speaks TLS. Certificates and registration with the API server are not its business.
//
// # Verdicts and failures
//
// What a handler says about an object is a verdict. It goes out with the status code 200, and the
// API server obeys it: see [Denied] for how an error becomes one. When the webhook itself fails
// there is no verdict: it panicked, was not done in time, was asked too much at once, could not
// read the request, or could not find out what it had to know, such as from a cache that has not
// synced; see [Failed] for which errors say so. The API server then does what the failurePolicy of
// the configuration says.
//
// # Bounds
//
// See [Limits], and [Budget] for the memory of all bodies together. Header, content type and length are checked before a body is read, and a body is
// cut off at its limit. The context of a handler ends a little before the API server gives up;
// should the handler go on, the answer goes out without it.
//
// # Patches
//
// A defaulter changes a Go value; what goes out is the difference that it made, applied to the
// object as it came. Fields that the Go type does not know stay as they are, and fields that only
// encoding adds (status: {}) do not appear. Nothing changed is no patch.
package webhook
