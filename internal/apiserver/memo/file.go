package memo

import (
	"bufio"
	"crypto/sha256"
	"embed"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"sync"

	"github.com/flyball-io/flyball/internal/apiserver/rules"
)

// File keeps answers between runs. Any number of processes may use one at once. What another process adds is seen by
// those that open the file later.
//
// It is a log. Each record is appended by one write, so that records of several processes do not mix:
//
//	length of the message, 4 bytes · key, 32 bytes · CRC-32C of all else, 4 bytes · message
//
// The message is a [kept] template, packed by [pack]. A record without one says that a question was asked once. A file that is damaged, or
// too large, is removed, and begins again: nothing is lost but time. For the same reason a failure to write ends writing
// and is no error.
type File struct {
	mu   sync.Mutex
	log  *os.File
	at   map[key]span32 // where messages are; of no length for questions that were asked once
	size int64
	over bool // nothing is written any more
}

// span32 is the place of a message in a file.
type span32 struct{ at, length uint32 }

// maxFile bounds the bytes of a file. A process that finds it larger begins a new one.
const maxFile = 32 << 20

// maxMessage bounds the bytes of a packed message, and maxUnpacked those of what it packs: an answer, and the parts of
// it that have values.
const (
	maxMessage  = 3 << 20
	maxUnpacked = 2 * maxFirst
)

// header is the bytes of a record before its message.
const header = 4 + sha256.Size + 4

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

//go:embed *.go
var sources embed.FS

// Version identifies the sources of this package. Files of other versions cannot be read: each has a name of its own.
var Version = sync.OnceValue(func() string {
	h := sha256.New()
	names, _ := fs.Glob(sources, "*")
	for _, name := range names {
		text, _ := sources.ReadFile(name) // it is embedded
		fmt.Fprintln(h, name, len(text))
		h.Write(text)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
})

// Open opens a file, and makes it if there is none. Its name has to tell the version of rules, and [Version].
func Open(name string) (*File, error) {
	f, err := open(name)
	if errors.Is(err, errDamaged) {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) { // another process has removed it
			return nil, err
		}
		f, err = open(name)
	}
	return f, err
}

// errDamaged is the error for a file that has to begin again.
var errDamaged = errors.New("memo: the file of answers is damaged, or too large")

func open(name string) (*File, error) {
	log, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	f := &File{log: log, at: map[key]span32{}}
	if err := f.read(); err != nil {
		log.Close()
		return nil, err
	}
	return f, nil
}

// read finds the records of the file. The last one may be cut off: another process may be writing it.
func (f *File) read() error {
	r := bufio.NewReaderSize(f.log, 1<<16)
	var head [header]byte
	message := make([]byte, 0, 1<<16)
	for {
		if _, err := io.ReadFull(r, head[:]); err == io.EOF || err == io.ErrUnexpectedEOF {
			return nil
		} else if err != nil {
			return err
		}
		length := binary.BigEndian.Uint32(head[:])
		n := int(length)
		if length > maxMessage || f.size+header+int64(n) > maxFile {
			return errDamaged
		}
		message = append(message[:0], make([]byte, n)...)
		if _, err := io.ReadFull(r, message); err == io.EOF || err == io.ErrUnexpectedEOF {
			return nil
		} else if err != nil {
			return err
		}
		if sum(head, message) != binary.BigEndian.Uint32(head[header-4:]) {
			return errDamaged
		}
		k := key(head[4:])
		if n > 0 || f.at[k].length == 0 {
			f.at[k] = span32{uint32(f.size + header), uint32(n)}
		}
		f.size += header + int64(n)
	}
}

func sum(head [header]byte, message []byte) uint32 {
	return crc32.Update(crc32.Checksum(head[:header-4], castagnoli), castagnoli, message)
}

// find returns the template of a question; nil if there is none. once reports whether the question was asked once.
func (f *File) find(k key) (t *template, once bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, once := f.at[k]
	if s.length == 0 {
		return nil, once
	}
	message := make([]byte, s.length)
	if _, err := f.log.ReadAt(message, int64(s.at)); err != nil {
		return nil, true
	}
	text, err := unpack(message)
	if err != nil {
		return nil, true
	}
	var found kept
	if rules.ParseMessage(text, &found) == nil {
		if t, err := templateOf(found); err == nil {
			return t, true
		}
	}
	return nil, true
}

// mark remembers that a question was asked once.
func (f *File) mark(k key) { f.append(k, nil) }

// add adds the template of a question.
func (f *File) add(k key, t *template) {
	text, err := rules.AppendMessage(nil, &t.kept)
	if err != nil || len(text) > maxUnpacked {
		return
	}
	if message, err := pack(text); err == nil && len(message) <= maxMessage {
		f.append(k, message)
	}
}

func (f *File) append(k key, message []byte) {
	record := make([]byte, header, header+len(message))
	binary.BigEndian.PutUint32(record, uint32(len(message)))
	copy(record[4:], k[:])
	record = append(record, message...)
	binary.BigEndian.PutUint32(record[header-4:], sum([header]byte(record), message))
	f.mu.Lock()
	defer f.mu.Unlock()
	if known := f.at[k]; f.over || known.length > 0 {
		return
	}
	if _, err := f.log.Write(record); err != nil {
		f.over = true
		return
	}
	f.size += int64(len(record))
	f.over = f.size > maxFile
}

// Close closes the file. No memory may use it any more.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.over, f.at = true, nil
	return f.log.Close()
}
