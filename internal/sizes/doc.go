// Package sizes draws objects of 0 to 3 MiB, and servers and bodies that bring them, to test each reader of bytes. What
// it reads must equal what the stock decoders of Kubernetes read.
//
//	Run ──► Case: objects, events ──► stock encoders ──► List, Watch, Server ──► Pieces ──► the reader
//	                │                                                                         │
//	                └──► stock decoders ──► Check ◄───────────────────────────────────────────┘
//
// A Case draws the kind, the encoding, the compression, the sizes of pages, the sizes of objects around the edges of
// buffers, and where in an object the bytes are. The name of a subtest is its seed.
package sizes

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
)

// Case is one state of a server, and what happens next.
type Case struct {
	// GVK is that of ConfigMap, or of Thing: a custom resource without a Go type.
	GVK schema.GroupVersionKind
	// Encoding is what the server answers with if the client takes it.
	Encoding wire.Encoding
	// Gzip says that the server compresses lists and objects, and Streaming that it has streaming lists.
	Gzip, Streaming bool
	// Page is a limit for the pages of a list; 0: one page.
	Page int64
	// First are the objects of the list, by namespace and name.
	First []object.Object
	// Events follow on a watch.
	Events []Event

	r     *rand.Rand
	drawn time.Time

	stocks map[answer][]byte
}

// Event is one event of a watch.
type Event struct {
	Type   string // ADDED, MODIFIED or DELETED
	Object object.Object
}

// cases is how many cases a test has, and longCases with FLYBALL_LONG.
const cases, longCases = 6, 200

// Run runs a test for each of some cases.
func Run(t *testing.T, test func(t *testing.T, c *Case)) {
	n := cases
	if os.Getenv("FLYBALL_LONG") != "" {
		n = longCases
	}
	for i := range n {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			c := Draw(t)
			defer func() {
				if t.Failed() {
					t.Log(c)
				}
			}()
			test(t, c)
		})
	}
}

// Draw returns a case. The name of the test decides which.
func Draw(t testing.TB) *Case {
	seed := fnv.New64a()
	seed.Write([]byte(t.Name()))
	r := rand.New(rand.NewPCG(seed.Sum64(), 0))
	c := &Case{r: r, drawn: time.Now(), stocks: map[answer][]byte{}, GVK: configMaps, Encoding: wire.JSON, Gzip: r.IntN(2) == 0, Streaming: r.IntN(2) == 0, Page: int64(r.IntN(4))}
	switch r.IntN(4) {
	case 0:
		c.GVK = Things
	case 1:
	default:
		c.Encoding = wire.Protobuf
	}
	c.draw()
	return c
}

// String describes the case.
func (c *Case) String() string {
	s := fmt.Sprintf("%s in %v, gzip %v, streaming %v, pages of %d; bytes of the objects:", c.GVK.Kind, c.Encoding, c.Gzip, c.Streaming, c.Page)
	for _, o := range c.First {
		s += fmt.Sprintf(" %s %d", o.GetName(), len(c.Object(o)))
	}
	for _, e := range c.Events {
		s += fmt.Sprintf(", %s %s %d", e.Type, e.Object.GetName(), len(c.Object(e.Object)))
	}
	return s
}
