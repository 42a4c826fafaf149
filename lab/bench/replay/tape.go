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

	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/lab/bench/corpus"
	"github.com/flyball-io/flyball/object"
)

// Tape is an encoded corpus with a number of its changes: a reel of the objects and one of the
// changes. It is immutable and safe for concurrent use.
type Tape struct {
	kinds []kind
	form  Form
	first int // the resourceVersion of the whole first list
	steps []corpus.Step
	// of has the kind of each object, as an index in kinds. Objects that the steps make come after
	// those of the first list.
	of []uint8

	objects, changes *reel
}

// kind is a kind of a tape, and the form of its objects: that of the tape, or JSON for a kind
// without protobuf.
type kind struct {
	corpus.Resource
	form Form
}

// Record returns a tape in dir, with the first events changes of the corpus. It makes the tape,
// unless it was made before. Progress gets the number of finished messages; nil means no output.
func Record(ctx context.Context, dir string, c corpus.Corpus, events int, f Form, progress func(done, of int)) (*Tape, error) {
	t := &Tape{form: f, first: corpus.Version(c), of: make([]uint8, c.Len())}
	for _, r := range c.Resources() {
		t.kinds = append(t.kinds, kind{r, f.Of(r)})
	}
	churn := c.Churn(events)
	t.steps = churn.Steps
	for i := range t.of {
		t.of[i] = uint8(c.KindOf(i))
	}
	for _, step := range t.steps {
		if step.Object >= len(t.of) {
			t.of = slices.Grow(t.of, 1+step.Object-len(t.of))[:1+step.Object]
		}
		t.of[step.Object] = uint8(step.Kind)
	}
	message := func(o corpus.Object, object, version int) ([]byte, mark, error) {
		k := t.kind(object)
		o.SetResourceVersion(strconv.Itoa(version))
		b, err := k.form.Message(o, k.GVK)
		if err != nil {
			return nil, mark{}, err
		}
		m, err := k.form.find(b, object)
		return b, m, err
	}
	var err error
	t.objects, err = openReel(ctx, file(dir, c, f, 0), c.Len(), progress, func(i int) ([]byte, mark, error) {
		return message(c.At(i), i, corpus.FirstVersion+i)
	})
	if err == nil && events > 0 {
		t.changes, err = openReel(ctx, file(dir, c, f, events), events, progress, func(k int) ([]byte, mark, error) {
			return message(churn.Object(k), t.steps[k].Object, t.first+1+k)
		})
	}
	if err != nil {
		return nil, fmt.Errorf("recording %s: %w", c.ID(), errors.Join(err, t.Close()))
	}
	return t, nil
}

// file returns the file name of a reel: that of the objects, or of a number of changes.
func file(dir string, c corpus.Corpus, f Form, changes int) string {
	const format = 5
	sum := fnv.New64a()
	fmt.Fprintf(sum, "%d %s %s %d", format, c.ID(), f, changes)
	name := "cluster"
	if all := c.Resources(); len(all) == 1 {
		name = all[0].GVR.GroupResource().String()
	}
	return filepath.Join(dir, fmt.Sprintf("%s-%s-%s", name, f, hex.EncodeToString(sum.Sum(nil))))
}

// kind returns the kind of an object.
func (t *Tape) kind(object int) *kind { return &t.kinds[t.of[object]] }

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

// ContentType returns the content type that a client has to request for a kind, which is an index
// in the corpus's Resources.
func (t *Tape) ContentType(kind int) string { return t.kinds[kind].form.contentType(false) }

// Message returns the bytes of object i as they are in the first list. They must not be changed.
func (t *Tape) Message(i int) []byte { return t.objects.message(i) }

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
	for i := range order {
		k := t.kind(i)
		gvk, _ := k.form.kinds(k.GVK)
		raw := wire.Raw{Kind: &wire.Kind{GVK: gvk}, Encoding: wire.JSON, Bytes: t.show(initial(i))}
		if k.form.protobuf() {
			raw.Encoding = wire.Protobuf
		}
		h, err := raw.Header()
		if err != nil {
			panic(err) // an object of the tape
		}
		keys[i], order[i] = h.Key, i
	}
	slices.SortFunc(order, func(a, b int) int { return keys[a].Compare(keys[b]) })
	return order
}
