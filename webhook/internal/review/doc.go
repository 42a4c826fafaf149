// Package review is the common part of admission and conversion webhooks. An [Endpoint] reads a
// request within bounds, parses it, and has a [Job] answer it. It always sends an
// answer, whatever the user's code does.
//
//	method, content type, length ──► body, capped ──► Options.Parse ──► Job.Serve ──► answer
//	   405      415        413        413, 400, 408, 429   400         │ (a goroutine)
//	                                                                   ├─ panic: 500
//	                                                                   └─ past its time: 504, abandoned,
//	                                                                      still counted in Limits.Concurrency
//
// A refusal is a metav1.Status as JSON, since the API server shows that to its user. details.uid is
// the UID of the review if it is known. A refusal is not a verdict: the API server then applies the
// failurePolicy of the webhook's configuration.
package review
