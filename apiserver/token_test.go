package apiserver_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

const tokenReviews = "/apis/authentication.k8s.io/v1/tokenreviews"

// token asks for a token of the service account "robot". What it holds is written down, the token is not.
func (s *session) token(spec string) string {
	s.t.Helper()
	return s.tokenFor("robot", "", spec)
}

func (s *session) tokenFor(account, metadata, spec string) string {
	s.t.Helper()
	body := fmt.Sprintf(`{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest",%s"spec":%s}`, metadata, strings.ReplaceAll(spec, "NS", s.ns))
	code, warnings, text := s.send("POST", s.path("~/serviceaccounts/"+account+"/token"), body)
	var made struct{ Status struct{ Token string } }
	err := json.Unmarshal(text, &made)
	parts := strings.Split(made.Status.Token, ".")
	if err != nil || len(parts) != 3 { // a Status
		s.note("token: %d %q\n%s", code, warnings, s.normal(text))
		return ""
	}
	claims, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		s.t.Fatal(err)
	}
	var c struct {
		Exp, Iat, Nbf int64
		Jti           string
		Kubernetes    struct{ WarnAfter int64 } `json:"kubernetes.io"`
	}
	if err := json.Unmarshal(claims, &c); err != nil {
		s.t.Fatal(err)
	}
	s.names[c.Jti], s.names[made.Status.Token] = "a JTI", "a token"
	for _, at := range []int64{c.Exp, c.Nbf, c.Kubernetes.WarnAfter} {
		if at != 0 {
			s.names[fmt.Sprint(at)] = fmt.Sprintf("%d s after its begin", at-c.Iat)
		}
	}
	if c.Iat != c.Nbf {
		s.t.Errorf("iat %d, nbf %d", c.Iat, c.Nbf)
	}
	s.note("token: %d %q\n%s\n%s", code, warnings, s.normal(text), s.normal(claims))
	return made.Status.Token
}

func (s *session) account(name string) answer {
	s.t.Helper()
	return s.post("~/serviceaccounts", `{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"`+name+`"}}`)
}

func (s *session) review(token, audiences string) {
	s.t.Helper()
	token = strings.ReplaceAll(token, "NS", `N\u0053`) // NS is the namespace of the case
	s.post(tokenReviews, `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","spec":{"token":"`+token+`"`+audiences+`}}`)
}

// holds writes down what becomes of a request with a token.
func (s *session) holds(token string) {
	s.t.Helper()
	was := s.client
	s.asNobody()
	s.do("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", `{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}`, "Authorization", "Bearer "+token)
	s.client = was
}

// unused returns tokens that nobody has used: the real server trusts a token for ten seconds.
func (s *session) unused(spec string) []string {
	s.t.Helper()
	var all []string
	for range 12 {
		all = append(all, s.token(spec))
	}
	return all
}

// void waits until one of these tokens is refused, and returns it. The real server looks at a cache.
func (s *session) void(tokens []string, text string) string {
	s.t.Helper()
	var last []byte
	for _, token := range tokens {
		time.Sleep(50 * time.Millisecond) // nothing announces what a server knows
		_, _, answer := s.send("POST", tokenReviews, `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","spec":{"token":"`+token+`"}}`)
		last = answer
		if strings.Contains(string(answer), text) {
			return token
		}
	}
	s.t.Fatalf("%s does not refuse tokens: %s", s.url, last)
	return ""
}

// tokenCases are about tokens of service accounts.
var tokenCases = []conformanceCase{
	{"a token", func(s *session) {
		s.account("robot")
		token := s.token(`{}`)
		s.review(token, "")
		s.holds(token)
		s.grant("unused")
		s.post(rbacPath+"/namespaces/NS/rolebindings", binding("RoleBinding", "robot", "ClusterRole", "system:aggregate-to-view", `{"kind":"ServiceAccount","name":"robot","namespace":"NS"}`))
		s.settled(`{"user":"system:serviceaccount:`+s.ns+`:robot","resourceAttributes":{"namespace":"`+s.ns+`","verb":"list","resource":"configmaps"}}`, true)
		s.asNobody()
		s.do("GET", "~/configmaps", "", "Authorization", "Bearer "+token)
		s.do("GET", "~/secrets", "", "Authorization", "Bearer "+token)
		s.do("GET", "~/configmaps", "", "Authorization", "Bearer "+token[:len(token)-4]+"AAAA")
		s.do("GET", "~/configmaps", "", "Authorization", "Bearer "+token, "Impersonate-User", "eve")
	}},
	{"tokens by their spec", func(s *session) {
		a := s.account("robot")
		s.token(`{"expirationSeconds":600}`)
		s.token(`{"expirationSeconds":599}`)
		s.token(`{"expirationSeconds":4294967297}`)
		s.token(`{"expirationSeconds":86400,"audiences":["x","y"]}`)
		s.token(`{"audiences":["https://kubernetes.default.svc.cluster.local"]}`)
		s.token(`{"boundObjectRef":{"kind":"ConfigMap","apiVersion":"v1","name":"a"}}`)
		s.token(`{"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"none"}}`)
		s.token(`{"boundObjectRef":{"kind":"Secret","apiVersion":"v1","name":"none"}}`)
		s.token(`{"boundObjectRef":{"kind":"Node","apiVersion":"v1","name":"none"}}`)
		s.tokenFor("none", "", `{}`)
		s.tokenFor("robot", `"metadata":{"name":"other"},`, `{}`)
		s.tokenFor("robot", `"metadata":{"namespace":"other"},`, `{}`)
		s.tokenFor("robot", `"metadata":{"uid":"`+a.Metadata.UID+`"},`, `{}`)
		s.tokenFor("robot", `"metadata":{"uid":"11111111-2222-3333-4444-555555555555"},`, `{}`)
		s.get("~/serviceaccounts/robot/token")
		s.post("~/serviceaccounts/robot/token?dryRun=All", `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","metadata":{"name":"x"},"spec":{}}`)
	}},
	{"audiences", func(s *session) {
		s.account("robot")
		token := s.token(`{"audiences":["x","y"]}`)
		s.review(token, "")
		s.review(token, `,"audiences":["y","z"]`)
		s.review(token, `,"audiences":["z"]`)
		s.holds(token)
		plain := s.token(`{}`)
		s.review(plain, `,"audiences":["x"]`)
		s.review(plain, `,"audiences":["x","https://kubernetes.default.svc.cluster.local"]`)
	}},
	{"tokens that are none", func(s *session) {
		s.review("x", "")
		s.review("a.b.c", "")
		s.review(unsigned("https://kubernetes.default.svc.cluster.local"), "")
		s.review(unsigned("kubernetes/serviceaccount"), "")
		s.review(unsigned("https://example.com"), "")
		s.review("", "")
		s.as("eve")
		s.review("x", "")
	}},
	{"a token of a pod", func(s *session) {
		s.account("robot")
		s.account("other")
		s.post("/api/v1/nodes", `{"apiVersion":"v1","kind":"Node","metadata":{"name":"NS"}}`)
		pod := func(name, account, node string) answer {
			return s.post("~/pods", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"`+name+`"},"spec":{"serviceAccountName":"`+account+`",`+node+`"containers":[{"name":"c","image":"i"}]}}`)
		}
		a := pod("a", "robot", `"nodeName":"NS",`)
		pod("b", "other", "")
		pod("c", "robot", `"nodeName":"gone",`)
		token := s.token(`{"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"a","uid":"` + a.Metadata.UID + `"}}`)
		s.token(`{"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"a","uid":"11111111-2222-3333-4444-555555555555"}}`)
		s.token(`{"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"b"}}`)
		s.token(`{"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"c"}}`)
		s.token(`{"expirationSeconds":3607,"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"c"}}`)
		s.review(token, "")
		s.holds(token)
		all := s.unused(`{"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"a"}}`)
		s.delete("~/pods/a?gracePeriodSeconds=0", "")
		s.review(s.void(all, `"error":`), "")
	}},
	{"a token of a secret and of a node", func(s *session) {
		s.account("robot")
		s.post("~/secrets", `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"}}`)
		s.post("/api/v1/nodes", `{"apiVersion":"v1","kind":"Node","metadata":{"name":"NS"}}`)
		ofSecret := s.unused(`{"boundObjectRef":{"kind":"Secret","apiVersion":"v1","name":"a"}}`)
		ofNode := s.unused(`{"boundObjectRef":{"kind":"Node","apiVersion":"v1","name":"NS"}}`)
		s.review(ofSecret[0], "")
		s.review(ofNode[0], "")
		s.delete("~/secrets/a", "")
		s.delete("/api/v1/nodes/NS", "")
		s.review(s.void(ofSecret[1:], `"error":`), "")
		s.review(s.void(ofNode[1:], `"error":`), "")
	}},
	{"a token whose account goes", func(s *session) {
		s.account("robot")
		all := s.unused(`{}`)
		s.review(all[0], "")
		s.delete("~/serviceaccounts/robot", "")
		s.review(s.void(all[1:], "not found"), "")
		s.account("robot")
		s.review(s.void(all[1:], "does not match claim"), "")
	}},
	{"who may have a token", func(s *session) {
		s.account("robot")
		s.grant("issuer", rule("", "serviceaccounts/token", "create", "robot"))
		s.as("issuer")
		s.token(`{}`)
		s.tokenFor("other", "", `{}`)
		s.get("~/serviceaccounts/robot")
	}},
}
