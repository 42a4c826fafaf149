// Package cert keeps the TLS certificate of a server: given as files and read again when they
// change, or made and rotated here, with the clients told whom to trust.
//
//	Files      tls.crt, tls.key ──read every 2 s──► same twice? parses? matches? ──┐
//	                                                                               ├─► GetCertificate
//	Managed    Secret (CA, serving pair) ◄──next──► keeper, one in each replica ───┘
//	                                                  │
//	                                                  └──caBundle──► webhook configurations, CRDs
//
// Both are a [Source]; [TLS] makes the tls.Config of a server from one. A certificate that serves
// is replaced by a better one only: whatever is wrong with what should come next, the old one goes
// on, and [Source.Check] says what is wrong.
//
// # Rotation without a moment of distrust
//
// The Secret is the state of [Managed]; the keepers of all replicas read it, decide by one pure
// function, and write with optimistic locking, so that any of them can go on where another
// stopped. A new authority goes through four steps, each seen done before the next:
//
//	1 join     the new CA is put beside the old one into the bundle (Secret: ca.crt)
//	2 inject   the bundle is written into every target
//	3 promote  when every target had it for the settling time, the new CA signs the serving
//	           certificate, which every replica loads; the key of the old CA is gone
//	4 drop     when the last certificate of the old CA has expired, it leaves the bundle
//
// A target is read before the Secret is, and written only if it did not change since: so a replica
// that lags never puts an older bundle over a newer one.
package cert
