// Package client talks to the Kubernetes API over net/http: typed reads and writes, watches, and
// the raw list & watch that a reflector runs on.
//
//	pod, err := client.Get[corev1.Pod](ctx, c, key)
//	for pod, err := range client.List[corev1.Pod](ctx, c, client.InNamespace("web")) { … }
//	pod, err = client.Update(ctx, c, pod)
//
// A request reads straight down:
//
//	Get, List, Create, Patch, Apply …   typed functions; the options become GetOptions, ListOptions, Op
//	        │
//	Reader, Writer                      the two doors: a cache, a fence or a dry run can stand here
//	        │
//	Live ── Mapper                      kind → resource, from discovery
//	        │
//	      link                          rate limit, retry on 429/503, 401 and CA reload, silence limit, hook
//	        │
//	     net/http                       credentials, TLS and proxies of client-go's rest
//
// Feed goes from the Mapper to the link without a rate limit and without retries: a reflector has its
// own backoff.
//
// What a call returns belongs to the caller; what it is given is never changed. Objects may be
// typed (the scheme knows their kind), [unstructured.Unstructured] or
// [metav1.PartialObjectMetadata]; for the last two the kind is that of the object, or that of
// [OfKind]. Kinds that have a protobuf form travel in it, all others as JSON.
//
// What is read, changed and written as a whole loses nothing: an [Update] keeps the fields that the Go
// type does not have.
//
// Errors have one Go type for each cause a caller can act on: [NotFoundError], [AlreadyExistsError],
// [ConflictError], [InvalidError], [ForbiddenError], [UnauthorizedError], [TooManyRequestsError], [GoneError], [TimeoutError],
// [UnavailableError], and so on. Take them out with errors.As, or ask apimachinery's
// apierrors.IsNotFound family.
package client
