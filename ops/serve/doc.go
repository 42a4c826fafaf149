// Package serve runs HTTP servers that are safe to expose to a hostile network, and restricts them
// to authorized callers. Make a server with [New] and call [Server.Run]:
//
//	s, err := serve.New(serve.Options{Name: "metrics", Handler: serve.Authorized(c, h, serve.AuthOptions{})})
//	err = s.Run(ctx)                                  returns nil once ctx has ended
//
//	           gate              net/http                 guard                          yours
//	socket ──► a bound on ─────► TLS ≥ 1.2, header 10 s, ► panic → 500, ctx with ──────► Authorized ──► Handler
//	           connections;      body 30 s, header size    a deadline, answer in        401, 403, 503
//	           evicts the                                  time or 503
//	           oldest idle one
//
// A server listens on loopback by default. It refuses plain HTTP on any other address unless
// Options.Insecure is set. No goroutine starts before [Server.Run], and none is left when Run
// returns.
//
// [Authorized] asks the API server for the caller (TokenReview) and the permission
// (SubjectAccessReview). [Debug] serves the pages of runtime/pprof and the program's own. Serve
// them behind Authorized, or on loopback.
package serve
