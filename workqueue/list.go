package workqueue

// links are the neighbours of an entry in its list. An entry is in one list at most.
type links struct{ prev, next number }

// list is a doubly linked list through the nodes of entries.
type list struct{ head, tail number }

func (l *list) append(s nodes, n number) {
	s.at(n).links = links{prev: l.tail}
	if l.tail == 0 {
		l.head = n
	} else {
		s.at(l.tail).links.next = n
	}
	l.tail = n
}

func (l *list) remove(s nodes, n number) {
	at := s.at(n).links
	if at.prev == 0 {
		l.head = at.next
	} else {
		s.at(at.prev).links.next = at.next
	}
	if at.next == 0 {
		l.tail = at.prev
	} else {
		s.at(at.next).links.prev = at.prev
	}
}
