package memo

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/flyball-io/flyball/internal/apiserver/rules"
)

// run is what one process asks of one memory with a file: for the same object, at some versions of the state. Those with
// as many digits are of one form. It returns how many questions reach rules.
func run(t *testing.T, name string, again Again, versions ...uint64) int {
	t.Helper()
	f, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m := New(1 << 20)
	m.Use(f)
	ask, asked := counted(honest)
	over := m.Over(ask, again)
	for _, version := range versions {
		req := question("abc", version, noon.Add(time.Duration(version)*time.Hour))
		got, err := over(req)
		want, _ := honest(req)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%d: got %+v %v, want %+v", version, got, err, want)
		}
	}
	return *asked
}

// What one process has asked and learned, the next one knows.
func TestFileOfAnotherRun(t *testing.T) {
	name := filepath.Join(t.TempDir(), "answers")
	for i, c := range []struct {
		ask  uint64
		want int
	}{{100, 1}, {211, 3}, {345, 0}, {456, 0}} {
		if got := run(t, name, Creates, c.ask); got != c.want {
			t.Errorf("run %d: rules were asked %d times, want %d", i, got, c.want)
		}
	}
	at := filepath.Join(t.TempDir(), "answers")
	for i, want := range []int{3, 0} {
		if got := run(t, at, First, 100); got != want {
			t.Errorf("run %d at once: rules were asked %d times, want %d", i, got, want)
		}
	}
}

// Updates are kept only where time is virtual: each has objects that another run has not.
func TestFileOfUpdates(t *testing.T) {
	for again, want := range map[Again][]int{Creates: {4, 4, 4}, All: {4, 0, 0}} {
		name := filepath.Join(t.TempDir(), "answers")
		for i, want := range want {
			f, err := Open(name)
			if err != nil {
				t.Fatal(err)
			}
			m := New(1 << 20)
			m.Use(f)
			ask, asked := counted(honest)
			over := m.Over(ask, again)
			for range 3 {
				req := question("abc", 100, noon)
				req.Method = "PUT"
				if _, err := over(req); err != nil {
					t.Fatal(err)
				}
			}
			if *asked != want {
				t.Errorf("%v: run %d: rules were asked %d times, want %d", again, i, *asked, want)
			}
			f.Close()
		}
	}
}

// A file that is cut off or changed at any byte costs questions, and never an answer.
func TestFileThatIsDamaged(t *testing.T) {
	name := filepath.Join(t.TempDir(), "answers")
	run(t, name, Creates, 100, 211, 1000, 2111)
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at < len(whole); at += 1 + at%13 {
		flipped := bytes.Clone(whole)
		flipped[at] ^= 0x10
		for _, text := range [][]byte{flipped, whole[:at]} {
			if err := os.WriteFile(name, text, 0o600); err != nil {
				t.Fatal(err)
			}
			run(t, name, Creates, 345, 3456) // asks or not; the answers are right
			run(t, name, Creates, 345, 456)
		}
		// Whatever the last record was, another file has begun at the latest when it was read again.
		if asked := run(t, name, Creates, 567); asked > 0 {
			t.Fatalf("byte %d: rules were asked %d times", at, asked)
		}
	}
}

// Many write to one file at once. All of it can be read.
func TestFileOfMany(t *testing.T) {
	name := filepath.Join(t.TempDir(), "answers")
	const writers, each = 8, 100
	var wg sync.WaitGroup
	for w := range writers {
		f, err := Open(name)
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			defer f.Close()
			for i := range each {
				k := key{byte(w), byte(i)}
				f.mark(k)
				f.add(k, templated(t, fmt.Sprint("n", w, "-", i)))
			}
		})
	}
	wg.Wait()
	f, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for w := range writers {
		for i := range each {
			want := answered(t, fmt.Sprint("n", w, "-", i))
			if got, _ := f.find(key{byte(w), byte(i)}); got == nil || !reflect.DeepEqual(got.answer, want) {
				t.Fatalf("%d, %d: got %+v, want %+v", w, i, got, want)
			}
		}
	}
}

// answered is the answer about an object of a name.
func answered(t *testing.T, name string) *rules.Answer {
	t.Helper()
	a, err := honest(question(name, 100, noon))
	if err != nil {
		t.Error(err)
	}
	return a
}

// templated returns a template of the answer about an object of a name.
func templated(t *testing.T, name string) *template {
	t.Helper()
	text, err := rules.AppendMessage(nil, answered(t, name))
	if err != nil {
		t.Error(err)
	}
	out, err := templateOf(kept{Text: text})
	if err != nil {
		t.Error(err)
	}
	return out
}

// A file that is too large begins again. So does one that cannot be written: all is asked.
func TestFileThatIsFull(t *testing.T) {
	name := filepath.Join(t.TempDir(), "answers")
	f, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	for i := range byte(20) {
		f.append(key{i}, make([]byte, maxMessage))
	}
	f.Close()
	if info, err := os.Stat(name); err != nil || info.Size() < maxFile || info.Size() > maxFile+maxMessage+header {
		t.Fatalf("%v bytes, %v", info.Size(), err)
	}
	if asked := run(t, name, Creates, 100, 211); asked != 4 {
		t.Errorf("rules were asked %d times, want 4", asked)
	}
	if info, err := os.Stat(name); err != nil || info.Size() > 1<<16 {
		t.Errorf("%v bytes, %v: it has not begun again", info.Size(), err)
	}
	if _, err := Open(filepath.Join(name, "below a file")); err == nil {
		t.Error("no error for a folder that cannot be")
	}

	if f, err = Open(name); err != nil {
		t.Fatal(err)
	}
	m := New(1 << 20)
	m.Use(f)
	f.log.Close() // whatever is written fails
	ask, asked := counted(honest)
	over := m.Over(ask, Creates)
	for version := range uint64(3) {
		req := question("abc", 1000+version, noon)
		got, err := over(req)
		if want, _ := honest(req); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%d: got %+v, %v", version, got, err)
		}
	}
	if *asked != 4 {
		t.Errorf("rules were asked %d times", *asked)
	}
}

// No length in a file is too large to be compared, whatever the size of an int.
func TestFileWithAnyLength(t *testing.T) {
	name := filepath.Join(t.TempDir(), "answers")
	for _, length := range []uint32{maxMessage + 1, 1<<31 - 1, 1 << 31, 1<<32 - 1} {
		if err := os.WriteFile(name, binary.BigEndian.AppendUint32(nil, length), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(name, header); err != nil {
			t.Fatal(err)
		}
		if asked := run(t, name, Creates, 100, 211); asked != 4 {
			t.Errorf("length %d: rules were asked %d times, want 4", length, asked)
		}
		if asked := run(t, name, Creates, 345); asked != 0 {
			t.Errorf("length %d: the file has not begun again", length)
		}
	}
}

// Processes that find a damaged file at once all get a file.
func TestFileThatManyFindDamaged(t *testing.T) {
	name := filepath.Join(t.TempDir(), "answers")
	for range 100 {
		if err := os.WriteFile(name, bytes.Repeat([]byte{1}, 100), 0o600); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				f, err := Open(name)
				if err != nil {
					t.Error(err)
					return
				}
				f.Close()
			})
		}
		wg.Wait()
	}
}
