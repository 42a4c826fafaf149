// Package client reads, writes and watches objects of the Kubernetes API, typed by generics.
//
//	c, err := client.Dial(ctx, client.ConfigOptions{}, client.Options{})
//	pod, err := client.Get[corev1.Pod](ctx, c, key)
//	for pod, err := range client.List[corev1.Pod](ctx, c, client.InNamespace("web")) { … }
//	pod, err = client.Update(ctx, c, pod)
//
// [Dial] reads the kubeconfig, makes a [Live] client and checks the server. Controllers take the
// client of their manager instead: it has the same functions and reads from the cache.
//
// Every call returns a new object that the caller owns, or nil and an error. A call never changes
// its arguments. Objects may be typed, [unstructured.Unstructured] or [metav1.PartialObjectMetadata].
// The scheme knows the kind of a typed object. The other two name their kind, or take that of [OfKind].
// Kinds with a protobuf form travel in protobuf, all others in JSON.
//
// An object that is read, changed and written as a whole loses nothing: [Update] keeps the fields that
// its Go type does not have.
//
// # Errors
//
// Each cause that a caller can act on has one Go type: [NotFoundError], [AlreadyExistsError],
// [ConflictError], [InvalidError], [ForbiddenError], [UnauthorizedError], [TooManyRequestsError],
// [GoneError], [TimeoutError], [UnavailableError] and so on. Find them by errors.As, or ask the
// apierrors.IsNotFound family of apimachinery. [IgnoreNotFound] drops the error for a deleted object.
//
// # The path of a request
//
//	Get, List, Create, Patch, Apply …   typed functions; the options become GetOptions, ListOptions, Op
//	        │
//	Reader, Writer                      the two interfaces: a cache, a fence or a dry run implements them
//	        │
//	Live ── mapper                      kind → resource, from discovery
//	        │
//	      link                          rate limit, retry on 429/503, 401 and CA reload, silence limit, hook
//	        │
//	     net/http                       credentials, TLS and proxies of client-go's rest
//
// A [Feed] is the raw list and watch that a reflector runs on. Its requests go from the mapper to the
// link without a rate limit and without retries: the reflector has its own backoff.
package client
