package workqueue

// heap is a binary heap of things that know their own place in it, least first.
type heap[T node[T]] []T

type node[T any] interface {
	before(T) bool
	at() *int32
}

func (h *heap[T]) push(x T) {
	*x.at() = int32(len(*h))
	*h = append(*h, x)
	h.fix(x)
}

func (h *heap[T]) remove(x T) {
	s := *h
	i, last := int(*x.at()), len(s)-1
	moved := s[last]
	var none T
	s[last] = none
	*h = s[:last]
	if i != last {
		(*h)[i] = moved
		*moved.at() = int32(i)
		h.fix(moved)
	}
}

// fix moves x to its place after its order has changed.
func (h *heap[T]) fix(x T) {
	s := *h
	i := int(*x.at())
	for i > 0 {
		parent := (i - 1) / 2
		if !x.before(s[parent]) {
			break
		}
		s[i] = s[parent]
		*s[i].at() = int32(i)
		i = parent
	}
	for {
		child := 2*i + 1
		if child >= len(s) {
			break
		}
		if child+1 < len(s) && s[child+1].before(s[child]) {
			child++
		}
		if !s[child].before(x) {
			break
		}
		s[i] = s[child]
		*s[i].at() = int32(i)
		i = child
	}
	s[i] = x
	*x.at() = int32(i)
}
