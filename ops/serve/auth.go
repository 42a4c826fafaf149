package serve

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/logguard"
)

// AuthOptions configures [Authorized]. The zero value works. The options are read once.
type AuthOptions struct {
	// Audiences are the accepted audiences of a token; one of them must match. Nil means the
	// audiences of the API server.
	Audiences []string
	// AllowFor is how long a positive answer is cached, DenyFor how long a negative one. Zero means
	// one minute and 10 s. Negative disables the cache: each request asks the API server.
	AllowFor, DenyFor time.Duration
	// Timeout bounds the reviews of one request together. Zero or negative means 10 s.
	Timeout time.Duration
	// MaxAnswers bounds the cached answers, positive and negative ones separately. Zero or negative
	// means 1000.
	MaxAnswers int
	// MaxReviews bounds the concurrent reviews; further ones wait. Zero or negative means 8.
	MaxReviews int
	// Logger logs failed reviews. A person must act on them: a permission is missing, or the API
	// server is unreachable. Nil means slog.Default().
	Logger *slog.Logger
}

// maxToken is the longest token in bytes that is sent to the API server.
const maxToken = 16 << 10

// Authorized returns a handler that passes a request to h if the API server allows it. The request
// must have a token (Authorization: Bearer). Its user must have the permission for path and method:
// the nonResourceURLs of a ClusterRole, with verbs get, post and so on.
//
//	no token, or an invalid one                  401, with WWW-Authenticate
//	a user without the permission                403
//	a review failed                              503
//	a path that is not clean                     400
//
// c must have the permission to create tokenreviews and subjectaccessreviews (the ClusterRole
// system:auth-delegator). It must not be fenced, since a standby needs it, too.
//
// Concurrent requests with the same token share a review. Tokens are not stored, only their
// SHA-256. h does not see the token.
func Authorized(c client.Client, h http.Handler, o AuthOptions) http.Handler {
	o.AllowFor, o.DenyFor = cmp.Or(o.AllowFor, time.Minute), cmp.Or(o.DenyFor, 10*time.Second)
	o.Timeout = cmp.Or(max(o.Timeout, 0), 10*time.Second)
	o.MaxAnswers, o.MaxReviews = cmp.Or(max(o.MaxAnswers, 0), 1000), cmp.Or(max(o.MaxReviews, 0), 8)
	o.Logger = logguard.Logger(o.Logger)
	slots := make(chan struct{}, o.MaxReviews)
	return &authorizer{
		c: c, o: o, next: h, failures: logguard.Throttle{Interval: 10 * time.Second, Burst: 1},
		users: newReviews[*authenticationv1.UserInfo](o, slots, func(u *authenticationv1.UserInfo) bool { return u != nil }),
		may:   newReviews[bool](o, slots, func(yes bool) bool { return yes }),
	}
}

// authorizer is the handler of Authorized.
type authorizer struct {
	c    client.Client
	o    AuthOptions
	next http.Handler

	users    *reviews[*authenticationv1.UserInfo] // by token; nil for an invalid token
	may      *reviews[bool]                       // by token, verb and path
	failures logguard.Throttle
}

// ServeHTTP implements http.Handler.
func (g *authorizer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !isClean(r.URL.Path) {
		http.Error(w, "the path is not clean", http.StatusBadRequest)
		return
	}
	token, given := bearer(r.Header)
	if token == "" {
		challenge(w, given)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), g.o.Timeout)
	defer cancel()
	of := digest(sha256.Sum256([]byte(token)))
	user, err := g.users.get(ctx, of, func(ctx context.Context) (*authenticationv1.UserInfo, error) { return g.review(ctx, token) })
	if err != nil {
		g.unavailable(w, r).Warn("token review failed", "err", err)
		return
	}
	if user == nil {
		challenge(w, true)
		return
	}
	verb := strings.ToLower(r.Method)
	asked := digest(sha256.Sum256(fmt.Appendf(of[:], "%s %s", verb, r.URL.Path)))
	allowed, err := g.may.get(ctx, asked, func(ctx context.Context) (bool, error) { return g.access(ctx, user, verb, r.URL.Path) })
	if err != nil {
		g.unavailable(w, r).Warn("subject access review failed", "err", err)
		return
	}
	if !allowed {
		http.Error(w, fmt.Sprintf("user %q may not %s %s", user.Username, verb, r.URL.Path), http.StatusForbidden)
		return
	}
	// The handler must not forward or print the token.
	without := *r
	without.Header = r.Header.Clone()
	without.Header.Del("Authorization")
	g.next.ServeHTTP(w, &without)
}

// isClean reports whether a path is in its canonical form. A path that is allowed below /debug/
// must not lead elsewhere.
func isClean(p string) bool {
	return p == "/" || strings.HasPrefix(p, "/") && path.Clean(p) == strings.TrimSuffix(p, "/")
}

// bearer returns the token of a request. given reports whether the request has credentials of any
// kind.
func bearer(h http.Header) (token string, given bool) {
	all := h.Values("Authorization")
	if len(all) != 1 {
		return "", len(all) > 0
	}
	scheme, token, _ := strings.Cut(all[0], " ")
	token = strings.TrimSpace(token)
	if !strings.EqualFold(scheme, "Bearer") || len(token) > maxToken || strings.ContainsFunc(token, notInToken) {
		return "", true
	}
	return token, true
}

func notInToken(r rune) bool { return r <= ' ' || r > '~' }

func challenge(w http.ResponseWriter, given bool) {
	c, text := "Bearer", "a token is needed"
	if given {
		c, text = `Bearer error="invalid_token"`, "the token is not valid"
	}
	w.Header().Set("WWW-Authenticate", c)
	http.Error(w, text, http.StatusUnauthorized)
}

// unavailable denies a request because its review failed. It returns the logger for the reason, which the caller is not
// told. A client that has left is no failure.
func (g *authorizer) unavailable(w http.ResponseWriter, r *http.Request) *slog.Logger {
	w.Header().Set("Retry-After", "1")
	http.Error(w, "authorization is temporarily unavailable", http.StatusServiceUnavailable)
	if r.Context().Err() != nil {
		return slog.New(slog.DiscardHandler)
	}
	return g.failures.Next(g.o.Logger)
}

// review returns the user of a token, or nil if the token is invalid.
func (g *authorizer) review(ctx context.Context, token string) (*authenticationv1.UserInfo, error) {
	got, err := client.Create(ctx, g.c, &authenticationv1.TokenReview{
		Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: g.o.Audiences},
	})
	if err != nil {
		return nil, err
	}
	s := &got.Status
	if !s.Authenticated {
		return nil, nil
	}
	// A server without support for audiences returns none, and would accept any token.
	if len(g.o.Audiences) > 0 && !slices.ContainsFunc(s.Audiences, func(a string) bool { return slices.Contains(g.o.Audiences, a) }) {
		return nil, nil
	}
	return &s.User, nil
}

// access asks the API server whether a user has a permission.
func (g *authorizer) access(ctx context.Context, user *authenticationv1.UserInfo, verb, path string) (bool, error) {
	extra := make(map[string]authorizationv1.ExtraValue, len(user.Extra))
	for k, v := range user.Extra {
		extra[k] = authorizationv1.ExtraValue(v)
	}
	got, err := client.Create(ctx, g.c, &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra,
			NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: path, Verb: verb},
		},
	})
	if err != nil {
		return false, err
	}
	return got.Status.Allowed && !got.Status.Denied, nil
}
