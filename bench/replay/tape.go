package replay

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/flyball-io/flyball/bench/corpus"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/wire"
)

// Tape is a corpus and a plan, encoded: a reel of the objects and one of their changes. It is read
// only and may be used from any goroutine.
type Tape struct {
	resource corpus.Resource
	plan     Plan
	form     Form
	first    int // the resourceVersion of the whole first list

	objects, changes *reel
}

// Record makes a tape, or takes the one that was made before, in dir. Progress is told how many
// messages are done; nil: nobody is.
func Record(ctx context.Context, dir string, c corpus.Corpus, p Plan, f Form, progress func(done, of int)) (*Tape, error) {
	gvk, first := c.Resource().GVK, corpus.Version(c)
	message := func(o corpus.Object, object, version int) ([]byte, mark, error) {
		o.SetResourceVersion(strconv.Itoa(version))
		b, err := f.message(o, gvk)
		if err != nil {
			return nil, mark{}, err
		}
		m, err := f.find(b, object)
		return b, m, err
	}
	t := &Tape{resource: c.Resource(), plan: p, form: f, first: first}
	var err error
	t.objects, err = openReel(ctx, file(dir, c, f, ""), c.Len(), progress, func(i int) ([]byte, mark, error) {
		return message(c.At(i), i, corpus.FirstVersion+i)
	})
	if err == nil && p.Events > 0 {
		t.changes, err = openReel(ctx, file(dir, c, f, fmt.Sprintf("%d of %d", p.Events, p.Keys)), p.Events, progress, func(k int) ([]byte, mark, error) {
			object, changes := p.step(c.Len(), k)
			return message(c.Changed(object, changes), object, first+1+k)
		})
	}
	if err != nil {
		return nil, fmt.Errorf("recording %s: %w", c.Resource().GVR.GroupResource(), errors.Join(err, t.Close()))
	}
	return t, nil
}

// file is the name of a reel.
func file(dir string, c corpus.Corpus, f Form, what string) string {
	const format = 4
	sum := fnv.New64a()
	fmt.Fprintf(sum, "%d %s %s %s", format, c.ID(), f, what)
	return filepath.Join(dir, fmt.Sprintf("%s-%s-%s", c.Resource().GVR.GroupResource(), f, hex.EncodeToString(sum.Sum(nil))))
}

// item is an object in one version: what shows it, and what differs there.
type item struct {
	object  int
	message int // which message: first the objects, then the changes
	life    int // how often the object was deleted and made again
	version int
}

// initial is an object as it is in the first list.
func initial(i int) item { return item{object: i, message: i, version: corpus.FirstVersion + i} }

// show is the message of an item.
func (t *Tape) show(it item) []byte {
	r, i, recorded := t.objects, it.message, corpus.FirstVersion+it.message
	if n := t.Len(); i >= n {
		r, i, recorded = t.changes, i-n, t.first+1+i-n
	}
	if it.life == 0 && it.version == recorded {
		return r.message(i)
	}
	return r.marks[i].rewrite(r.message(i), it.object, it.life, it.version)
}

// Len is how many objects the first list has.
func (t *Tape) Len() int { return len(t.objects.marks) }

// Bytes is how many bytes all objects of the first list have.
func (t *Tape) Bytes() int {
	if t.Len() == 0 {
		return 0
	}
	return int(t.objects.marks[t.Len()-1].End)
}

// Version is the resourceVersion of the first list: event k has the version that follows by k+1.
func (t *Tape) Version() int { return t.first }

// ContentType is how a client has to ask for what is on the tape.
func (t *Tape) ContentType() string { return t.form.contentType(false) }

// Close gives the memory back. Nobody may read any more.
func (t *Tape) Close() error {
	var errs []error
	for _, r := range []*reel{t.objects, t.changes} {
		if r != nil {
			errs = append(errs, r.close())
		}
	}
	return errors.Join(errs...)
}

// Dir is the folder where tapes are kept: the one that is given, or one in the user's cache folder.
func Dir(given string) (string, error) {
	if given != "" {
		return given, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("a folder for the tapes, which -tapes names: %w", err)
	}
	return filepath.Join(cache, "flyball", "bench"), nil
}

// sorted are the objects in the order of their keys, which is that of an API server's lists.
func (t *Tape) sorted() []int {
	keys, order := make([]object.Key, t.Len()), make([]int, t.Len())
	gvk, _ := t.form.kinds(t.resource.GVK)
	raw := wire.Raw{Kind: &wire.Kind{GVK: gvk}, Encoding: wire.JSON}
	if t.form.protobuf() {
		raw.Encoding = wire.Protobuf
	}
	for i := range order {
		raw.Bytes = t.show(initial(i))
		h, err := raw.Header()
		if err != nil {
			panic(err) // an object of the tape
		}
		keys[i], order[i] = h.Key, i
	}
	slices.SortFunc(order, func(a, b int) int { return keys[a].Compare(keys[b]) })
	return order
}
