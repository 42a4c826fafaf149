package rules

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
)

// conn passes requests to a program, and its answers back.
type conn struct {
	out   io.WriteCloser
	frame int           // the most that the length of a frame may be
	done  chan struct{} // closed when err is set
	err   error

	writing sync.Mutex

	mu       sync.Mutex
	last     uint64
	waiting  map[uint64]chan *Answer // a nil answer is too large
	answered bool                    // the program has answered something
}

// newConn returns a connection whose answers come from in. end is called when they end. It gets the cause and returns
// the error of the requests that wait.
func newConn(in io.Reader, out io.WriteCloser, frame int, end func(error) error) *conn {
	c := &conn{out: out, frame: frame, done: make(chan struct{}), waiting: map[uint64]chan *Answer{}}
	go func() {
		defer close(c.done)
		c.err = end(c.read(bufio.NewReaderSize(in, 1<<16)))
	}()
	return c
}

// read passes each answer to its waiting request, until the answers end.
func (c *conn) read(r io.Reader) error {
	for {
		answer := &Answer{}
		id, err := ReadFrame(r, answer, c.frame)
		switch {
		case err == nil:
			answer.Part()
		case errors.Is(err, ErrTooLarge):
			answer = nil
		default:
			return err
		}
		c.mu.Lock()
		c.answered = true
		c.mu.Unlock()
		if ch := c.taken(id); ch != nil {
			ch <- answer
		}
	}
}

// taken returns the channel of a request that waits, and makes it wait no longer; nil if it does not.
func (c *conn) taken(id uint64) chan *Answer {
	c.mu.Lock()
	defer c.mu.Unlock()
	ch := c.waiting[id]
	delete(c.waiting, id)
	return ch
}

// Part gives the objects of an answer memory of their own. They live longer than the answer, and would keep all of it.
func (a *Answer) Part() {
	if len(a.Writes) == 0 {
		return
	}
	a.Body = bytes.Clone(a.Body)
	for i := range a.Writes {
		w := &a.Writes[i]
		w.Object, w.Shown = bytes.Clone(w.Object), bytes.Clone(w.Shown)
	}
}

// useful reports whether there was an answer.
func (c *conn) useful() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.answered
}

// close ends the connection and waits for its end.
func (c *conn) close() {
	c.out.Close()
	<-c.done
}

func (c *conn) do(req *Request) (*Answer, error) {
	ch := make(chan *Answer, 1)
	c.mu.Lock()
	c.last++
	id := c.last
	c.waiting[id] = ch
	c.mu.Unlock()

	c.writing.Lock()
	err := WriteFrame(c.out, id, req, c.frame)
	c.writing.Unlock()
	switch {
	case errors.Is(err, ErrTooLarge):
		c.taken(id)
		return nil, fmt.Errorf("rules: %s %s: the request is %w", req.Method, req.URL, ErrTooLarge)
	case err != nil:
		c.out.Close() // the program cannot read the frames after one that is cut
	}
	select {
	case answer := <-ch:
		if answer == nil {
			return nil, fmt.Errorf("rules: %s %s: the answer is %w", req.Method, req.URL, ErrTooLarge)
		}
		return answer, nil
	case <-c.done:
		return nil, c.err
	}
}
