package serve

import (
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

// AuthOptions say how Authorized asks, and how long it believes an answer. The zero value works.
// They are read once.
type AuthOptions struct {
	// Audiences are those of whom a token must be meant for one. Nil: those of the API server.
	Audiences []string
	// AllowFor is how long a yes is believed, DenyFor how long a no. Zero: one minute, and 10 s.
	// Negative: the API server is asked each time.
	AllowFor, DenyFor time.Duration
	// Timeout is how long the reviews of one request may take. Zero or negative: 10 s.
	Timeout time.Duration
	// MaxAnswers bounds how many answers of each sort are remembered. Zero or negative: 1000.
	MaxAnswers int
	// MaxReviews bounds how many reviews are under way; more wait their turn. Zero or negative: 8.
	MaxReviews int
	// Logger is told when a review fails, which a person must mend: a permission is missing, or the
	// API server is away. Nil: slog.Default().
	Logger *slog.Logger
}

// maxToken is the longest token that is shown to the API server.
const maxToken = 16 << 10

// Authorized lets a request through to h if it carries a token (Authorization: Bearer) of a user
// whom the API server allows the path and the method: the nonResourceURLs of a ClusterRole, with
// verbs get, post and so on.
//
//	no token, or one that is not valid           401, with WWW-Authenticate
//	a user who may not                           403
//	nobody knows, since a review failed          503
//	a path that is not clean                     400
//
// c must be allowed to create tokenreviews and subjectaccessreviews (the ClusterRole
// system:auth-delegator), and must not be fenced: a standby is asked, too. Those who come with the
// same token at once share a review. Tokens are not kept, only their SHA-256, and h does not see them.
func Authorized(c client.Client, h http.Handler, o AuthOptions) http.Handler {
	def(&o.AllowFor, time.Minute)
	def(&o.DenyFor, 10*time.Second)
	if o.Timeout <= 0 {
		o.Timeout = 10 * time.Second
	}
	if o.MaxAnswers <= 0 {
		o.MaxAnswers = 1000
	}
	if o.MaxReviews <= 0 {
		o.MaxReviews = 8
	}
	o.Logger = logguard.Logger(o.Logger)
	turns := make(chan struct{}, o.MaxReviews)
	return &guard{
		c: c, o: o, next: h, failures: quietly{every: 10 * time.Second},
		users: newAnswers[*authenticationv1.UserInfo](o, turns, func(u *authenticationv1.UserInfo) bool { return u != nil }),
		may:   newAnswers[bool](o, turns, func(yes bool) bool { return yes }),
	}
}

type guard struct {
	c    client.Client
	o    AuthOptions
	next http.Handler

	users    *answers[*authenticationv1.UserInfo] // by token; nil: not a valid one
	may      *answers[bool]                       // by token, verb and path
	failures quietly
}

// ServeHTTP implements http.Handler.
func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !clean(r.URL.Path) {
		http.Error(w, "the path is not a clean one", http.StatusBadRequest)
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
		g.failed(w, r, "token review failed", err)
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
		g.failed(w, r, "subject access review failed", err)
		return
	}
	if !allowed {
		http.Error(w, fmt.Sprintf("user %q may not %s %s", user.Username, verb, r.URL.Path), http.StatusForbidden)
		return
	}
	// Whoever answers needs no token to hand on or to print.
	without := *r
	without.Header = r.Header.Clone()
	without.Header.Del("Authorization")
	g.next.ServeHTTP(w, &without)
}

// clean reports whether a path means what it says to everybody: what is allowed below /debug/ must
// not lead elsewhere.
func clean(p string) bool {
	return p == "/" || strings.HasPrefix(p, "/") && path.Clean(p) == strings.TrimSuffix(p, "/")
}

// bearer is the token of a request. given says that there were credentials, of whatever sort.
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

// failed denies since nobody knows. The reason goes to the log alone.
func (g *guard) failed(w http.ResponseWriter, r *http.Request, what string, err error) {
	if r.Context().Err() == nil {
		g.failures.log(g.o.Logger, slog.LevelWarn, what, func() []any { return []any{"err", err} })
	}
	w.Header().Set("Retry-After", "1")
	http.Error(w, "cannot tell at present whether this is allowed", http.StatusServiceUnavailable)
}

// review asks whose token it is; nil: nobody's.
func (g *guard) review(ctx context.Context, token string) (*authenticationv1.UserInfo, error) {
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
	// A server that does not know audiences says nothing of them, and would let any token through.
	if len(g.o.Audiences) > 0 && !slices.ContainsFunc(s.Audiences, func(a string) bool { return slices.Contains(g.o.Audiences, a) }) {
		return nil, nil
	}
	return &s.User, nil
}

// access asks whether a user may.
func (g *guard) access(ctx context.Context, user *authenticationv1.UserInfo, verb, path string) (bool, error) {
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
