package serve_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flyball-io/flyball/ops/serve"
)

// reads returns a handler that reports the result of reading the body.
func reads() (http.Handler, <-chan error) {
	ch := make(chan error, 100)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, err := io.Copy(io.Discard, r.Body)
		ch <- err
		if err != nil {
			http.Error(w, "bad body", http.StatusBadRequest)
		}
	}), ch
}

func TestSlowHeaderEndsTheConnection(t *testing.T) {
	s, addr, _ := started(t, serve.Options{Handler: ok, HeaderTimeout: 20 * time.Millisecond})
	for _, begin := range []string{"", "GET", "GET / HTTP/1.1\r\nHost: a\r\nX-"} {
		conn := dial(t, addr)
		fmt.Fprint(conn, begin)
		closed(conn)
	}
	if got := s.Stats().Requests; got != 0 {
		t.Errorf("%d requests came to the handler", got)
	}
}

func TestSlowBodyEndsTheConnection(t *testing.T) {
	h, ended := reads()
	_, addr, _ := started(t, serve.Options{Handler: h, ReadTimeout: 20 * time.Millisecond})
	for _, begin := range []string{
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nab",
		"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
	} {
		conn := dial(t, addr)
		fmt.Fprint(conn, begin)
		var late net.Error
		if err := <-ended; !errors.As(err, &late) || !late.Timeout() {
			t.Errorf("the body ended with %v", err)
		}
		closed(conn)
	}
}

func TestEndlessBodyIsCutOff(t *testing.T) {
	h, ended := reads()
	_, addr, _ := started(t, serve.Options{Handler: h, MaxBodyBytes: 1 << 16})
	conn := dial(t, addr)
	fmt.Fprint(conn, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
	sent := make(chan int)
	go func() {
		n, chunk := 0, "1000\r\n"+strings.Repeat("x", 0x1000)+"\r\n"
		for {
			m, err := io.WriteString(conn, chunk)
			n += m
			if err != nil {
				sent <- n
				return
			}
		}
	}()
	var tooLong *http.MaxBytesError
	if err := <-ended; !errors.As(err, &tooLong) {
		t.Errorf("the body ended with %v", err)
	}
	<-sent // it ends: the server closed the connection
}

func TestLongHeaderIsRefused(t *testing.T) {
	s, addr, _ := started(t, serve.Options{Handler: ok, MaxHeaderBytes: 1000})
	conn := dial(t, addr)
	go fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: a\r\nX-Long: %s\r\n\r\n", strings.Repeat("x", 10_000))
	if got := code(conn); got != "431" {
		t.Errorf("got %s", got)
	}
	if got := s.Stats().Requests; got != 0 {
		t.Errorf("%d requests came to the handler", got)
	}
}

// Clients that hold idle connections do not block a client with a request.
func TestIdleConnectionsGiveWay(t *testing.T) {
	inside, leave := make(chan struct{}), make(chan struct{})
	s, addr, _ := started(t, serve.Options{MaxConnections: 3, HeaderTimeout: -1, ReadTimeout: -1,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/stay" {
				inside <- struct{}{}
				<-leave
			}
		})})
	c := browser(t, &http.Transport{})
	if code, _ := get(t, c, "http://"+addr); code != 200 { // keeps a connection, idle
		t.Fatal(code)
	}
	for i := range 50 {
		conn := dial(t, addr)
		if i%2 == 0 {
			fmt.Fprint(conn, "GET / HTTP/1.1\r\n")
		}
		other := dial(t, addr)
		fmt.Fprint(other, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
		if got := code(other); got != "200" {
			t.Fatalf("request beside %d silent connections: %s", i+1, got)
		}
		other.Close()
	}
	// This client used its connection throughout. The connections without a request were closed
	// first.
	if code, _ := get(t, c, "http://"+addr); code != 200 {
		t.Fatal(code)
	}
	if st := s.Stats(); st.Refused == 0 || st.Open > 3 {
		t.Errorf("got %+v", st)
	}

	var busy []net.Conn
	for range 3 {
		conn := dial(t, addr)
		fmt.Fprint(conn, "GET /stay HTTP/1.1\r\nHost: a\r\n\r\n")
		<-inside
		busy = append(busy, conn)
	}
	conn := dial(t, addr)
	closed(conn)
	close(leave)
	for _, conn := range busy {
		if got := code(conn); got != "200" {
			t.Errorf("a busy connection was closed: %s", got)
		}
	}
}

func TestOldTLSIsRefused(t *testing.T) {
	cert, pool := certificate(t)
	own := &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS10}
	_, addr, _ := started(t, serve.Options{Handler: ok, TLS: own})
	for _, v := range []struct {
		version uint16
		want    bool
	}{{tls.VersionTLS10, false}, {tls.VersionTLS11, false}, {tls.VersionTLS12, true}, {tls.VersionTLS13, true}} {
		conn, err := tls.Dial("tcp", addr, &tls.Config{RootCAs: pool, MinVersion: v.version, MaxVersion: v.version})
		if (err == nil) != v.want {
			t.Errorf("%s: %v", tls.VersionName(v.version), err)
		}
		if err == nil {
			conn.Close()
		}
	}
	if own.MinVersion != tls.VersionTLS10 {
		t.Error("the configuration of the caller was changed")
	}
	plain := dial(t, addr)
	fmt.Fprint(plain, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	if got := code(plain); got != "400" {
		t.Errorf("plain HTTP: %s", got)
	}
}

// A configuration from GetConfigForClient must obey the same rule.
func TestChosenConfigurationRefusesOldTLS(t *testing.T) {
	cert, pool := certificate(t)
	_, addr, _ := started(t, serve.Options{Handler: ok, TLS: &tls.Config{
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			return &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS10}, nil
		}}})
	if _, err := tls.Dial("tcp", addr, &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}); err == nil {
		t.Error("TLS 1.1 was spoken")
	}
	conn, err := tls.Dial("tcp", addr, &tls.Config{RootCAs: pool})
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
}

func TestHTTP2IsOffByDefault(t *testing.T) {
	cert, pool := certificate(t)
	get := func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &cert, nil }
	for _, on := range []bool{false, true} {
		_, addr, stop := started(t, serve.Options{TLS: &tls.Config{GetCertificate: get}, HTTP2: on, HandlerTimeout: time.Minute,
			Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Proto) })})
		var protocols http.Protocols
		protocols.SetHTTP1(true)
		protocols.SetHTTP2(true)
		c := browser(t, &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, Protocols: &protocols})
		resp, err := c.Get("https://" + addr)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if want := map[bool]string{false: "HTTP/1.1", true: "HTTP/2.0"}[on]; string(b) != want {
			t.Errorf("HTTP2 %t: %s", on, b)
		}
		c.CloseIdleConnections()
		if err := stop(); err != nil {
			t.Error(err)
		}
	}
}

// Many bad clients of every kind connect at once. Good clients are answered meanwhile, and no
// connection or goroutine is left.
func TestHostileClientsDoNotHarmGoodOnes(t *testing.T) {
	const bad = 500
	rounds := 1
	if os.Getenv("FLYBALL_LONG") != "" {
		rounds = 200
	}
	s, addr, stop := started(t, serve.Options{MaxConnections: 100, MaxBodyBytes: 1 << 16, StopTimeout: time.Millisecond,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/panic" {
				panic("asked to")
			}
			if _, err := io.Copy(io.Discard, r.Body); err != nil {
				http.Error(w, "bad body", http.StatusBadRequest)
			}
		})})
	attacks := []string{
		"", "GET", "GET / HTTP/1.1\r\nHost: a\r\nX-Slow: ", "\x16\x03\x01\x02\x00\x01", "GET / HTTP/9.9\r\n\r\n",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "\x00\x00\x00", "GET /panic HTTP/1.1\r\nHost: a\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999\r\n\r\n" + strings.Repeat("x", 1<<17),
		"GET / HTTP/1.1\r\nHost: a\r\nX-Long: " + strings.Repeat("x", 1<<17),
	}
	for range rounds {
		var conns sync.WaitGroup
		var kept []net.Conn
		for i := range bad {
			conn := dial(t, addr)
			kept = append(kept, conn)
			conns.Go(func() {
				_, _ = io.WriteString(conn, attacks[i%len(attacks)])
				closed(conn)
			})
			if i%5 == 0 {
				good := dial(t, addr)
				fmt.Fprint(good, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nok")
				if got := code(good); got != "200" {
					t.Fatalf("a good call beside %d bad ones: %s", i+1, got)
				}
				good.Close()
			}
		}
		if got := s.Stats().Open; got > 100 {
			t.Errorf("%d connections are open", got)
		}
		for _, conn := range kept {
			conn.Close()
		}
		conns.Wait()
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}
