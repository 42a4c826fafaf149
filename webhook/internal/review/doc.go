// Package review is what admission and conversion webhooks have in common: an [Endpoint] takes a
// request off the network within bounds, lets a [Protocol] read and answer it, and makes sure that
// an answer goes out, whatever the code of the user does.
//
//	method, content type, length ──► body, capped ──► Protocol.Parse ──► Job.Serve ──► answer
//	   405      415        413        413, 400, 408, 429   400         │ (a goroutine)
//	                                                                   ├─ panic: 500
//	                                                                   └─ past its time: 504, left behind,
//	                                                                      still counted in Limits.Concurrency
//
// A refusal is a metav1.Status as JSON, since that is what an API server shows its user, with the
// UID of the review in details.uid where it is known. It is no verdict: what the API server does
// then is the failure policy of the webhook's configuration.
package review
