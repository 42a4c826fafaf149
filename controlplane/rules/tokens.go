package main

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/asn1"
	"fmt"
	"math/big"
	"net/http"
	"sync"
	"time"

	jose "gopkg.in/go-jose/go-jose.v2"
	"gopkg.in/go-jose/go-jose.v2/jwt"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	authenticatedgroup "k8s.io/apiserver/pkg/authentication/group"
	"k8s.io/apiserver/pkg/authentication/request/anonymous"
	"k8s.io/apiserver/pkg/authentication/request/bearertoken"
	"k8s.io/apiserver/pkg/authentication/request/union"
	"k8s.io/apiserver/pkg/authentication/request/websocket"
	apiserviceaccount "k8s.io/apiserver/pkg/authentication/serviceaccount"
	tokenunion "k8s.io/apiserver/pkg/authentication/token/union"
	"k8s.io/apiserver/pkg/registry/rest"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	authentication "k8s.io/kubernetes/pkg/apis/authentication"
	account "k8s.io/kubernetes/pkg/registry/core/serviceaccount/storage"
	"k8s.io/kubernetes/pkg/serviceaccount"
)

// issuer is the issuer of tokens of service accounts. It is also their audience if they are for the API server.
const issuer = "https://kubernetes.default.svc.cluster.local"

var audiences = authenticator.Audiences{issuer}

// signer signs tokens with the key of a seed. Equal tokens have equal signatures.
type signer struct {
	key    *ecdsa.PrivateKey
	public jose.JSONWebKey
}

var signers struct {
	sync.Mutex
	of *kept[string, *signer]
}

// maxSigners bounds the keys that are kept.
const maxSigners = 1024

// signerOf returns the signer with the key of a seed.
func signerOf(seed string) (*signer, error) {
	signers.Lock()
	defer signers.Unlock()
	if signers.of == nil {
		signers.of = newKept[string, *signer](maxSigners, nil)
	}
	if s, ok := signers.of.get(seed); ok {
		return s, nil
	}
	key, err := keyOf("service account tokens of " + seed)
	if err != nil {
		return nil, err
	}
	s := &signer{key: key, public: jose.JSONWebKey{Key: &key.PublicKey, Algorithm: string(jose.ES256), Use: "sig"}}
	keys, err := serviceaccount.StaticPublicKeysGetter([]any{&key.PublicKey})
	if err != nil {
		return nil, err
	}
	s.public.KeyID = keys.GetPublicKeys(context.Background(), "")[0].KeyID
	signers.of.put(seed, s)
	return s, nil
}

// keyOf derives a key from a text.
func keyOf(text string) (*ecdsa.PrivateKey, error) {
	var err error
	for try := range 8 { // a number above the order of the curve is no key
		sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", text, try))
		var key *ecdsa.PrivateKey
		if key, err = ecdsa.ParseRawPrivateKey(elliptic.P256(), sum[:]); err == nil {
			return key, nil
		}
	}
	return nil, err
}

func (s *signer) Public() *jose.JSONWebKey        { return &s.public }
func (s *signer) Algs() []jose.SignatureAlgorithm { return []jose.SignatureAlgorithm{jose.ES256} }

// SignPayload signs without randomness, after RFC 6979.
func (s *signer) SignPayload(payload []byte, _ jose.SignatureAlgorithm) ([]byte, error) {
	digest := sha256.Sum256(payload)
	text, err := s.key.Sign(nil, digest[:], crypto.SHA256)
	if err != nil {
		return nil, err
	}
	var n struct{ R, S *big.Int }
	if _, err := asn1.Unmarshal(text, &n); err != nil {
		return nil, err
	}
	out := make([]byte, 64)
	n.R.FillBytes(out[:32])
	n.S.FillBytes(out[32:])
	return out, nil
}

// generator issues tokens with the seed, time and uid of the call in the context.
type generator struct{}

func (generator) GenerateToken(ctx context.Context, claims *jwt.Claims, private any) (string, error) {
	c := callFrom(ctx)
	s, err := signerOf(c.req.Seed)
	if err != nil {
		return "", err
	}
	g, err := serviceaccount.JWTTokenGenerator(issuer, s)
	if err != nil {
		return "", err
	}
	by := c.now().Sub(claims.IssuedAt.Time())
	for _, at := range []*jwt.NumericDate{claims.IssuedAt, claims.NotBefore, claims.Expiry} {
		*at = *jwt.NewNumericDate(at.Time().Add(by))
	}
	claims.ID = c.req.UID
	return g.GenerateToken(ctx, claims, private)
}

// tokens is the subresource of service accounts that issues tokens, at the time of the call.
type tokens struct{ *account.TokenREST }

func (t tokens) Create(ctx context.Context, name string, obj runtime.Object, valid rest.ValidateObjectFunc, o *metav1.CreateOptions) (runtime.Object, error) {
	made, err := t.TokenREST.Create(ctx, name, obj, valid, o)
	if err != nil {
		return nil, err
	}
	now := callFrom(ctx).now()
	if token, ok := made.(*authentication.TokenRequest); ok {
		token.CreationTimestamp = now
		token.Status.ExpirationTimestamp = metav1.NewTime(now.Add(time.Duration(token.Spec.ExpirationSeconds) * time.Second))
	}
	return made, nil
}

// authenticated authenticates a request by its token and the objects of the call that holds the lock. The real
// authenticators do not pass on the context of the call.
type authenticated struct{ lock *callLock }

func (a authenticated) AuthenticateRequest(r *http.Request) (*authenticator.Response, bool, error) {
	c := a.lock.call
	s, err := signerOf(c.req.Seed)
	if err != nil {
		return nil, false, err
	}
	keys, err := serviceaccount.StaticPublicKeysGetter([]any{&s.key.PublicKey})
	if err != nil {
		return nil, false, err
	}
	objects := tokenObjects{c, time.Since(c.now().Time)}
	legacy, err := serviceaccount.NewLegacyValidator(true, objects, unmarked{})
	if err != nil {
		return nil, false, err
	}
	token := tokenunion.New(
		serviceaccount.JWTTokenAuthenticator([]string{serviceaccount.LegacyIssuer}, keys, audiences, legacy),
		serviceaccount.JWTTokenAuthenticator([]string{issuer}, keys, audiences, later(serviceaccount.NewValidator(objects), objects.by)),
	)
	// The real server also has a token for itself. A review does not know it, but its authenticator shows in errors.
	own := bearertoken.New(authenticator.TokenFunc(func(context.Context, string) (*authenticator.Response, bool, error) { return nil, false, nil }))
	known := authenticatedgroup.NewAuthenticatedGroupAdder(union.New(bearertoken.New(token), websocket.NewProtocolAuthenticator(token)))
	return union.New(own, union.NewFailOnError(known, anonymous.NewAuthenticator(nil))).AuthenticateRequest(r)
}

// shifted validates claims whose times are those of the call. The validator reads the clock of the process, so it
// adds the difference of the two clocks first.
type shifted[P any] struct {
	serviceaccount.Validator[P]
	by time.Duration
}

func later[P any](v serviceaccount.Validator[P], by time.Duration) serviceaccount.Validator[P] {
	return shifted[P]{v, by}
}

func (s shifted[P]) Validate(ctx context.Context, token string, public *jwt.Claims, private *P) (*apiserviceaccount.ServiceAccountInfo, error) {
	for _, at := range []*jwt.NumericDate{public.IssuedAt, public.NotBefore, public.Expiry} {
		if at != nil {
			*at = *jwt.NewNumericDate(at.Time().Add(s.by))
		}
	}
	return s.Validator.Validate(ctx, token, public, private)
}

// tokenObjects reads the objects that tokens are bound to. Their deletion times are moved to the clock of the process.
type tokenObjects struct {
	call *call
	by   time.Duration
}

func (t tokenObjects) GetServiceAccount(_ context.Context, namespace, name string) (*corev1.ServiceAccount, error) {
	return tokenObject[corev1.ServiceAccount](t, "serviceaccounts", namespace+"/"+name, name)
}

func (t tokenObjects) GetPod(_ context.Context, namespace, name string) (*corev1.Pod, error) {
	return tokenObject[corev1.Pod](t, "pods", namespace+"/"+name, name)
}

func (t tokenObjects) GetSecret(_ context.Context, namespace, name string) (*corev1.Secret, error) {
	return tokenObject[corev1.Secret](t, "secrets", namespace+"/"+name, name)
}

func (t tokenObjects) GetNode(_ context.Context, name string) (*corev1.Node, error) {
	return tokenObject[corev1.Node](t, "nodes", name, name)
}

// tokenObject returns a copy of an object.
func tokenObject[T any, P interface {
	*T
	metav1.Object
}](t tokenObjects, resource, key, name string) (*T, error) {
	text := t.call.get("/core/" + resource + "/" + key)
	if text == nil {
		return nil, apierrors.NewNotFound(corev1.Resource(resource), name)
	}
	o, err := decoded[T](text)
	if err != nil {
		return nil, err
	}
	own := *o
	if at := P(o).GetDeletionTimestamp(); at != nil {
		later := metav1.NewTime(at.Add(t.by))
		P(&own).SetDeletionTimestamp(&later)
	}
	return &own, nil
}

// unmarked drops the patches that note in a Secret when its token was used last.
type unmarked struct{ corev1client.SecretInterface }

func (u unmarked) Secrets(string) corev1client.SecretInterface { return u }

func (unmarked) Patch(context.Context, string, types.PatchType, []byte, metav1.PatchOptions, ...string) (*corev1.Secret, error) {
	return nil, nil
}
