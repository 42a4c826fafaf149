package cert

import "testing"

// The bundle goes to the clients of names of the certificate, wildcards included.
func TestBundleGoesToClientsOfOurNames(t *testing.T) {
	p := &ManagedOptions{DNSNames: []string{"hooks.shop.svc", "*.example.com"}}
	for url, want := range map[string]bool{
		"https://hooks.shop.svc/validate":    true,
		"https://HOOKS.shop.svc:8443/v":      true,
		"https://a.example.com:9443/convert": true,
		"https://a.b.example.com/convert":    false,
		"https://example.com/convert":        false,
		"https://others.shop.svc/validate":   false,
		"https://127.0.0.1/validate":         false,
		"://":                                false,
	} {
		if got := p.ours(map[string]any{"url": url}); got != want {
			t.Errorf("%s: %v, want %v", url, got, want)
		}
	}
	service := map[string]any{"service": map[string]any{"name": "hooks", "namespace": "shop"}}
	if !p.ours(service) {
		t.Errorf("%v is not ours", service)
	}
}
