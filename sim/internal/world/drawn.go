package world

import (
	"bytes"
	"fmt"
	"net/http"

	"github.com/flyball-io/flyball/sim/internal/judge"
)

// drawn has the uuids that programs draw for their identity in a Lease, and what stands for them on the server. So two
// runs have the same objects. They are equally long, since they also stand in protobuf.
type drawn struct {
	pairs [][2][]byte // what a program has drawn, and what stands for it
}

// there returns the body of a request as the server gets it.
func (d *drawn) there(body []byte) []byte {
	for _, p := range d.pairs {
		body = bytes.ReplaceAll(body, p[0], p[1])
	}
	return body
}

// back returns the body of an answer as the program gets it.
func (d *drawn) back(body []byte) []byte {
	for _, p := range d.pairs {
		body = bytes.ReplaceAll(body, p[1], p[0])
	}
	return body
}

// learn notes the uuids that a program writes into a Lease, but for that of the Lease.
func (d *drawn) learn(body []byte, own string) {
	for _, id := range anyUID.FindAll(body, -1) {
		known := string(id) == own
		for _, p := range d.pairs {
			known = known || bytes.Equal(p[0], id) || bytes.Equal(p[1], id)
		}
		if !known {
			d.pairs = append(d.pairs, [2][]byte{bytes.Clone(id), fmt.Appendf(nil, "00000000-0000-4000-9000-%012d", len(d.pairs)+1)})
		}
	}
}

// identify replaces what is drawn in a request about a Lease or an Event.
func (w *world) identify(c *call) {
	if t := c.req.Target(); resourceOf(t) == leases && c.req.Method != http.MethodGet {
		own := ""
		if o := w.state.Now().Get(keyOf(t)); o != nil {
			own = judge.UID(o)
		}
		w.drawn.learn(c.req.Body, own)
	}
	c.req.Body = w.drawn.there(c.req.Body)
}
