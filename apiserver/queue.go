package apiserver

// queue has the bytes that are written and not read. It keeps what is added, without a copy.
type queue struct {
	parts  [][]byte
	next   int // the first part that is not read to its end
	unread int
}

func (q *queue) add(b []byte) {
	if len(b) == 0 {
		return
	}
	if q.next > len(q.parts)/2 { // a reader that is always behind
		n := copy(q.parts, q.parts[q.next:])
		clear(q.parts[n:])
		q.parts, q.next = q.parts[:n], 0
	}
	q.parts, q.unread = append(q.parts, b), q.unread+len(b)
}

// read reads up to len(p) bytes.
func (q *queue) read(p []byte) (n int) {
	for n < len(p) && q.next < len(q.parts) {
		part := q.parts[q.next]
		k := copy(p[n:], part)
		n += k
		if q.parts[q.next] = part[k:]; k == len(part) {
			q.parts[q.next] = nil
			q.next++
		}
	}
	q.unread -= n
	if q.next == len(q.parts) {
		q.parts, q.next = q.parts[:0], 0
	}
	return n
}
