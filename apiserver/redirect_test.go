package apiserver_test

import "fmt"

// to redirects a webhook.
func to(code int, location string) func(review) string {
	return func(review) string { return fmt.Sprintf("%d %s", code, location) }
}

// redirectCases are about webhooks that say where else they are.
var redirectCases = []conformanceCase{
	{"webhooks that redirect", func(s *session) {
		h := newHooks(s)
		h.on("/v", allow())
		h.on("/next", deny(`{"message":"it may not be"}`))
		h.on("/again", to(308, "/next?x=y"))
		h.on("/loop", to(307, "/loop"))
		h.on("/bad", to(307, "ftp://example.com/%zz"))
		h.configure("Validating", "one", h.hook("/v", ""))
		for _, code := range []int{300, 301, 302, 303, 304, 307, 308} {
			for _, location := range []string{"/next", h.url + "/again", ""} {
				h.on("/v", to(code, location))
				s.post("~/configmaps", configMapOf("a"))
				h.asked()
			}
		}
		for _, location := range []string{"/loop", "/bad", "/missing"} {
			h.on("/v", to(307, location))
			s.post("~/configmaps", configMapOf("a"))
			h.asked()
		}
	}},
	{"mutating webhooks that redirect", func(s *session) {
		h := newHooks(s)
		h.on("/m", to(307, "/next"))
		h.on("/next", patched(`[{"op":"add","path":"/data/x","value":"y"}]`))
		h.configure("Mutating", "one", h.hook("/m", ""), h.hook("/next", ""))
		s.post("~/configmaps", configMapOf("a"))
		h.asked()
	}},
}
