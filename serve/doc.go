// Package serve runs HTTP servers that may stand in a hostile network, and says who may ask them.
//
//	           gate              net/http                 guard                          yours
//	socket ──► a bound on ─────► TLS ≥ 1.2, header 10 s, ► panic → 500, ctx with ──────► Authorized ──► Handler
//	           connections;      body 30 s, header size    a deadline, answer in        401, 403, 503
//	           the oldest that                             time or 503
//	           asks nothing goes
//
// A server listens on loopback unless it is told otherwise, and refuses to talk plain HTTP beyond it
// unless that is asked for by name. It starts nothing before [Server.Run], and when Run returns no
// goroutine of it lives.
//
// [Authorized] asks the API server who the caller is (TokenReview) and whether he may
// (SubjectAccessReview). [Debug] has the pages of runtime/pprof and others, to stand behind it.
package serve
