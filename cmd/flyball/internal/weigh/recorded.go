package weigh

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flyball-io/flyball/internal/recording"
	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
)

// Recorded weighs the objects of a recording. Those whose Go type has a protobuf form are encoded so
// before, since a server sends them so.
func Recorded(ctx context.Context, file string, s *runtime.Scheme, o Options) (*Report, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	from := "recording " + file
	r, err := recording.NewReader(interruptible{ctx, f})
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", from, err)
	}
	w := newWeighing(o, s, from)
	names := newMatcher(o.Kinds)
	sections := 0
	var excluded exclusions
	var there []Served
	for number := 1; ; sections++ {
		res, n, err := r.Next()
		if err == io.EOF {
			break
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", from, err)
		}
		there = append(there, Served{Resource: res})
		if !names.match(Served{Resource: res}) {
			continue
		}
		scope, ok, why := o.scope(res)
		if why != nil {
			excluded.add(res, why)
		}
		if !ok {
			continue
		}
		scale, err := w.section(ctx, r, res, n, scope, number)
		if err != nil {
			if ctx.Err() == nil {
				err = fmt.Errorf("%s: %w", from, err)
			}
			return nil, err
		}
		if err := w.alias(scale); err != nil {
			w.leaveOut(res.GVR.GroupResource().String(), err)
			continue
		}
		w.end(res, scale)
		number++
	}
	switch missing := names.missing(); {
	case sections == 0:
		return nil, fmt.Errorf("%s is empty", from)
	case len(missing) > 0:
		return nil, &MissingError{missing, from}
	}
	excluded.report(w)
	if len(o.Kinds) == 0 {
		w.absent(there, func(string) bool { return false }, errNotRecorded)
	}
	return w.result(ctx)
}

var errNotRecorded = errors.New("the recording has no such kind")

// interruptible ends with the cause of a context, also while objects are skipped.
type interruptible struct {
	ctx context.Context
	io.Reader
}

func (r interruptible) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.Reader.Read(p)
}

// section weighs the objects of one kind.
func (w *weighing) section(ctx context.Context, r *recording.Reader, res Resource, n int, scope Scope, number int) (*Scale, error) {
	kind := w.kindOf(res)
	s := NewScale(res, kind, scope.Namespaces)
	p := Progress{Kind: res.GVR.GroupResource().String(), Number: number}
	var failed error
	lines := func(yield func([]byte) bool) {
		for {
			b, err := r.Object()
			if err == io.EOF {
				return
			}
			if failed = err; err != nil || !yield(append([]byte(nil), b...)) {
				return
			}
		}
	}
	done := 0
	for raw, err := range sent(kind, lines) {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			s.Reject(fmt.Errorf("%s, object %d of %d: %w", p.Kind, done+1, n, err))
		} else {
			s.Add(raw)
		}
		if done++; done%1000 == 0 {
			p.Objects, p.Remaining = done, n-done
			w.progress(p)
		}
	}
	return s, failed
}

// sent yields the objects as a server sends them.
func sent(kind *wire.Kind, lines iter.Seq[[]byte]) iter.Seq2[wire.Raw, error] {
	t := kind.GoType()
	proto := wire.HasProtobuf(t)
	encode := func(b []byte) (wire.Raw, error) {
		raw := wire.Raw{Kind: kind, Encoding: wire.JSON, Bytes: b}
		if !proto {
			return raw, nil
		}
		o := reflect.New(t).Interface().(object.Object)
		if err := raw.DecodeOwned(o); err != nil {
			return raw, err
		}
		m, err := o.(interface{ Marshal() ([]byte, error) }).Marshal()
		return wire.Raw{Kind: kind, Encoding: wire.Protobuf, Bytes: m}, err
	}
	return func(yield func(wire.Raw, error) bool) {
		for b := range lines {
			if !yield(encode(b)) {
				return
			}
		}
	}
}
