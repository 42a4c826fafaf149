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

// Tape is an encoded corpus and plan: a reel of the objects and one of their changes. It is
// immutable and safe for concurrent use.
type Tape struct {
	resource corpus.Resource
	plan     Plan
	form     Form
	first    int // the resourceVersion of the whole first list

	objects, changes *reel
}

// Record returns a tape in dir. It makes the tape, unless it was made before. Progress gets the
// number of finished messages; nil means no output.
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

// file returns the file name of a reel.
func file(dir string, c corpus.Corpus, f Form, what string) string {
	const format = 4
	sum := fnv.New64a()
	fmt.Fprintf(sum, "%d %s %s %s", format, c.ID(), f, what)
	return filepath.Join(dir, fmt.Sprintf("%s-%s-%s", c.Resource().GVR.GroupResource(), f, hex.EncodeToString(sum.Sum(nil))))
}

// item is an object in one version: its message, and the differences from it.
type item struct {
	object  int
	message int // index of the message: first the objects, then the changes
	life    int // how often the object was deleted and made again
	version int
}

// initial returns an object as it is in the first list.
func initial(i int) item { return item{object: i, message: i, version: corpus.FirstVersion + i} }

// show returns the message of an item.
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

// Len returns the number of objects in the first list.
func (t *Tape) Len() int { return len(t.objects.marks) }

// Bytes returns the bytes of all objects in the first list.
func (t *Tape) Bytes() int {
	if t.Len() == 0 {
		return 0
	}
	return int(t.objects.marks[t.Len()-1].End)
}

// Version returns the resourceVersion of the first list. Event k has that version plus k+1.
func (t *Tape) Version() int { return t.first }

// ContentType returns the content type that a client has to request.
func (t *Tape) ContentType() string { return t.form.contentType(false) }

// Close releases the memory. Reading after Close is an error.
func (t *Tape) Close() error {
	var errs []error
	for _, r := range []*reel{t.objects, t.changes} {
		if r != nil {
			errs = append(errs, r.close())
		}
	}
	return errors.Join(errs...)
}

// Dir returns the folder for tapes: the given one, or one in the user's cache folder.
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

// sorted returns the objects in the order of their keys, as in an API server's lists.
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
