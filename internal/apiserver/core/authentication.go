package core

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/internal/apiserver/rules"
)

// User is the user of a request.
type User = rules.User

// Credentials are the parts of a request that say who makes it.
type Credentials struct {
	// Certificate is the user of a client certificate that has been verified; nil if there is none.
	Certificate *User
	// Authorization is the header of that name.
	Authorization string
	// Impersonate are the headers that begin with "Impersonate-".
	Impersonate map[string][]string
}

// None reports whether a request shows nothing of who makes it.
func (c Credentials) None() bool {
	return c.Certificate == nil && c.Authorization == "" && len(c.Impersonate) == 0
}

// Nobody returns a view of a state that has nothing but who makes a request without credentials.
func (s *State) Nobody() View { return View{settings: settings{nobody: s.nobody}} }

// The groups of users who are known, and of those who are not.
const (
	authenticated   = "system:authenticated"
	unauthenticated = "system:unauthenticated"
	anonymous       = "system:anonymous"
)

var (
	// Administrator is a user who may do everything.
	Administrator = User{Name: "admin", Groups: []string{masters, authenticated}}
	// Anonymous is the user of requests without credentials, on a server that takes such requests.
	Anonymous = User{Name: anonymous, Groups: []string{unauthenticated}}
)

// Identify returns the request with its user set, which may be an impersonated one. If the credentials are not valid,
// or may not impersonate, refused is the answer to the request.
func (v View) Identify(now time.Time, req Request, c Credentials) (_ Request, refused *Answer) {
	who, err := v.who(now, c)
	if err != nil {
		a := failed(req, err)
		return req, &a
	}
	req.User, req.UserUID, req.Groups, req.Extra = who.Name, who.UID, who.Groups, who.Extra
	if len(c.Impersonate) == 0 {
		return req, nil
	}
	return v.impersonate(now, req, c.Impersonate)
}

// who returns the user of credentials.
func (v View) who(now time.Time, c Credentials) (User, error) {
	if c.Certificate != nil {
		u := *c.Certificate
		if !slices.Contains(u.Groups, authenticated) && !slices.Contains(u.Groups, unauthenticated) && u.Name != anonymous {
			u.Groups = append(slices.Clip(u.Groups), authenticated)
		}
		return u, nil
	}
	if token := bearer(c.Authorization); token != "" {
		u, err := v.holder(now, token)
		if err == nil && u == nil {
			err = unauthorized()
		}
		if err != nil {
			return User{}, err
		}
		return *u, nil
	}
	if v.nobody.Name == "" {
		return User{}, unauthorized()
	}
	return v.nobody, nil
}

func unauthorized() *failure {
	return newFailure(http.StatusUnauthorized, metav1.StatusReasonUnauthorized, "Unauthorized")
}

// bearer returns the token of an Authorization header; "" if there is none.
func bearer(header string) string {
	parts := strings.SplitN(strings.TrimSpace(header), " ", 3)
	if len(parts) < 2 || !strings.EqualFold(parts[0], "bearer") {
		return ""
	}
	return parts[1]
}

// SpaceBeforeToken reports whether an Authorization header has more than one space before its token. Such a header
// counts as one without a token.
func SpaceBeforeToken(header string) bool {
	scheme, rest, ok := strings.Cut(strings.TrimSpace(header), " ")
	return ok && strings.EqualFold(scheme, "bearer") && strings.HasPrefix(rest, " ")
}

// trusted is how long the holder of a token is remembered, as on the real server. Within that time the token may
// outlive its end; changes of objects that it depends on show at once.
const trusted = 10 * time.Second

// holder returns the user of a token; nil if the token is not valid.
func (v View) holder(now time.Time, token string) (*User, error) {
	if u, ok := v.memory.holder(v, now, token); ok {
		return u, nil
	}
	review := authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
	answer, objects, err := v.review(now, "/apis/authentication.k8s.io/v1/tokenreviews", &review)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(answer, &review); err != nil {
		return nil, err
	}
	h := holder{at: now, objects: map[string]*Object{}}
	for key := range objects {
		h.objects[key] = v.get(key)
	}
	if s := review.Status; s.Authenticated {
		h.user = &User{Name: s.User.Username, UID: s.User.UID, Groups: s.User.Groups}
		for key, values := range s.User.Extra {
			if h.user.Extra == nil {
				h.user.Extra = map[string][]string{}
			}
			h.user.Extra[key] = values
		}
	}
	v.memory.hold(token, h)
	return h.user, nil
}

// impersonate returns the request with the impersonated user, or the answer that refuses it.
func (v View) impersonate(now time.Time, req Request, headers map[string][]string) (Request, *Answer) {
	about := req.attributes()
	if !v.rbac || slices.Contains(req.Groups, masters) {
		about = attributes{} // administrators may impersonate in every request
	}
	about.version = ""
	key := fmt.Sprintf("%q %q %q %q", req.User, req.Groups, req.Extra, about)
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		key += fmt.Sprintf(" %q %q", name, headers[name])
	}
	d, ok := v.memory.decision(v.roles, key)
	if !ok {
		call := v.call(now, Request{Method: req.Method, URL: req.URL, Accept: req.Accept, User: req.User, UserUID: req.UserUID, Groups: req.Groups, Extra: req.Extra}, target{})
		call.Impersonate = headers
		answer, err := v.ask(call)
		if err != nil {
			a := failed(req, err)
			return req, &a
		}
		if answer.User == nil {
			return req, &Answer{Code: answer.Code, ContentType: answer.ContentType, Body: answer.Body}
		}
		d = decision{as: answer.User}
		v.memory.decided(v.roles, key, d)
	}
	req.User, req.UserUID, req.Groups, req.Extra = d.as.Name, d.as.UID, d.as.Groups, d.as.Extra
	return req, nil
}
