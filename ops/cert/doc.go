// Package cert provides the TLS certificate of a server. [Files] reads it from files and reloads
// them when they change. [Managed] makes and rotates it, and writes the CA bundle into its clients.
//
// [NewFiles] and [NewManaged] make a [Source]; [TLS] makes the tls.Config of a server from it.
// [Source.Run] keeps the certificate up to date until its ctx ends. [Source.Ready] is closed once
// there is a certificate. [Source.Check] returns what is wrong.
//
//	Files      tls.crt, tls.key ──read every 2 s──► same twice? parses? matches? ──┐
//	                                                                               ├─► GetCertificate
//	Managed    Secret (CA, serving pair) ◄──next──► keeper, one in each replica ───┘
//	                                                  │
//	                                                  └──caBundle──► webhook configurations, CRDs
//
// A serving certificate is replaced only by a better one. If its successor cannot be used, the old
// one continues to serve, and [Source.Check] returns the reason.
//
// # Rotation without loss of trust
//
// The Secret is the state of [Managed]. The keepers of all replicas read it, decide by one
// pure function, and write with optimistic locking. So any keeper can continue where another
// stopped. A new authority takes four steps; each must be seen to be complete before the next:
//
//	1 join     the new CA joins the old one in the bundle (Secret: ca.crt)
//	2 inject   the bundle is written into every target
//	3 promote  once every target has had it for the settling time, the new CA signs the serving
//	           certificate, which every replica loads; the key of the old CA is deleted
//	4 drop     once the last certificate of the old CA has expired, it leaves the bundle
//
// A keeper reads a target before it reads the Secret, and writes the target only if it has not
// changed since. So a replica that lags never overwrites a newer bundle with an older one.
package cert
