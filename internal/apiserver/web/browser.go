package web

import (
	"net"
	"net/http"
	"net/url"
)

// browsers refuses requests that web pages of others make in a browser on this machine. Clients that need no
// credentials are told from those only by the header: a page has an Origin or a Sec-Fetch-Site that is not ours, and one
// that has its name resolve to a loopback address has a Host that is not ours.
type browsers struct {
	handler http.Handler
	origins *http.CrossOriginProtection
}

// NoBrowsers returns a handler for a server that listens on a loopback address and asks for no credentials. It refuses
// requests of web pages with 403.
func NoBrowsers(h http.Handler) http.Handler { return browsers{h, http.NewCrossOriginProtection()} }

func (b browsers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !local(r.Host) {
		http.Error(w, "The host of the request is not this machine. A server without TLS is for clients on this machine: use 127.0.0.1 or localhost.", http.StatusForbidden)
		return
	}
	if foreign(r) || b.origins.Check(r) != nil {
		http.Error(w, "The request was made by a web page of another server. A server without TLS takes none.", http.StatusForbidden)
		return
	}
	b.handler.ServeHTTP(w, r)
}

// foreign reports whether a page of another origin makes the request. Browsers say so for requests whose answers the
// page may read, upgrades to WebSocket among them.
func foreign(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return false
	}
	u, err := url.Parse(origin)
	return err != nil || u.Host == "" || u.Host != r.Host
}

// local reports whether a Host names this machine by a loopback address.
func local(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	if len(name) > 1 && name[0] == '[' && name[len(name)-1] == ']' {
		name = name[1 : len(name)-1]
	}
	ip := net.ParseIP(name)
	return name == "" || name == "localhost" || ip != nil && ip.IsLoopback()
}
