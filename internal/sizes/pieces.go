package sizes

import (
	"io"
	"math/rand/v2"
	"net/http"
)

// Pieces returns a reader of the same bytes, in pieces of 1 byte to 64 KiB.
func (c *Case) Pieces(in io.Reader) io.ReadCloser {
	return &pieces{ReadCloser: io.NopCloser(in), r: rand.New(rand.NewPCG(c.r.Uint64(), 0))}
}

type pieces struct {
	io.ReadCloser
	r    *rand.Rand
	size int // of the next pieces
	left int // how many there are of the size
}

func (p *pieces) Read(b []byte) (int, error) {
	if p.left == 0 {
		switch p.left = 1 + p.r.IntN(8); p.r.IntN(4) {
		case 0:
			p.size, p.left = 1, 1+p.r.IntN(300)
		case 1:
			p.size = 1 + p.r.IntN(4<<10)
		default:
			p.size = 1 + p.r.IntN(64<<10)
		}
	}
	p.left--
	return p.ReadCloser.Read(b[:min(len(b), p.size)])
}

// InPieces returns a transport whose requests and answers come in pieces.
func (c *Case) InPieces(rt http.RoundTripper) http.RoundTripper { return &transport{rt, c.r.Uint64()} }

type transport struct {
	http.RoundTripper
	seed uint64
}

func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	r := func(which int) *rand.Rand {
		return rand.New(rand.NewPCG(t.seed, uint64(2*len(req.URL.RawQuery)+which)))
	}
	if req.Body != nil {
		req = req.Clone(req.Context())
		req.Body = &pieces{ReadCloser: req.Body, r: r(0)}
	}
	resp, err := t.RoundTripper.RoundTrip(req)
	if err == nil {
		resp.Body = &pieces{ReadCloser: resp.Body, r: r(1)}
	}
	return resp, err
}

func (t *transport) CloseIdleConnections() {
	(&http.Client{Transport: t.RoundTripper}).CloseIdleConnections()
}
