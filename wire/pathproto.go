package wire

import (
	"strconv"
	"time"
)

// message reads a protobuf message, to which hop i applies.
func (e *pathEval) message(b []byte, i int) error {
	h := &e.p.hops[i]
	last := len(h.nums) - 1
	for _, num := range h.nums[:last] {
		sub, found, err := embedded(b, num)
		if err != nil {
			return err
		}
		if !found {
			e.missing(i)
			return nil
		}
		b = sub
	}
	num := h.nums[last]
	switch {
	case h.access == each:
		c := cursor{b: b}
		for c.next() {
			if c.num != num {
				continue
			}
			if err := e.element(&c, i); err != nil {
				return err
			}
		}
		return c.err
	case h.access == byKey:
		return e.entry(b, num, i)
	case i < len(e.p.hops)-1:
		sub, found, err := embedded(b, num)
		if err != nil {
			return err
		}
		if !found {
			e.missing(i)
			return nil
		}
		return e.message(sub, i+1)
	}
	c, found := cursor{b: b}, cursor{}
	for c.next() {
		if c.num == num {
			found = c
		}
	}
	if c.err != nil {
		return c.err
	}
	if found.num == 0 {
		e.missing(i)
		return nil
	}
	return e.leaf(&found)
}

// element reads one element of a list: the field under the cursor. Numbers may be packed.
func (e *pathEval) element(c *cursor, i int) error {
	if i < len(e.p.hops)-1 {
		b := c.bytes()
		if c.err != nil {
			return c.err
		}
		return e.message(b, i+1)
	}
	switch e.p.leaf {
	case intLeaf, uintLeaf, boolLeaf:
		if c.typ != typeBytes {
			break
		}
		packed := cursor{b: c.bytes(), typ: typeVarint}
		for packed.i < len(packed.b) {
			packed.number = packed.varint()
			if packed.err != nil {
				return packed.err
			}
			if err := e.leaf(&packed); err != nil {
				return err
			}
		}
		return nil
	}
	return e.leaf(c)
}

// entry reads the map entry of the key of hop i: key = 1, value = 2. The last of equal keys wins.
func (e *pathEval) entry(b []byte, num, i int) error {
	start := len(e.out)
	c := cursor{b: b}
	for c.next() {
		if c.num != num {
			continue
		}
		pair, value := cursor{b: c.bytes(), err: c.err}, cursor{}
		var key []byte
		for pair.next() {
			switch pair.num {
			case 1:
				key = pair.bytes()
			case 2:
				value = pair
			}
		}
		if pair.err != nil {
			return pair.err
		}
		if string(key) != e.p.hops[i].key {
			continue
		}
		e.out = e.out[:start]
		if value.num == 0 {
			e.empty(i)
		} else if err := e.element(&value, i); err != nil {
			return err
		}
	}
	return c.err
}

// leaf adds the single value under the cursor.
func (e *pathEval) leaf(c *cursor) error {
	switch e.p.leaf {
	case stringLeaf:
		b := c.bytes()
		if c.err != nil {
			return c.err
		}
		return e.add(string(b))
	case intLeaf:
		n := c.uint()
		if c.err != nil {
			return c.err
		}
		unused := 64 - e.p.bits // the generated code drops what does not fit
		return e.add(strconv.FormatInt(int64(n)<<unused>>unused, 10))
	case uintLeaf:
		n := c.uint()
		if c.err != nil {
			return c.err
		}
		unused := 64 - e.p.bits
		return e.add(strconv.FormatUint(n<<unused>>unused, 10))
	case boolLeaf:
		n := c.uint()
		if c.err != nil {
			return c.err
		}
		return e.add(strconv.FormatBool(n != 0))
	}
	b := c.bytes()
	if c.err != nil {
		return c.err
	}
	switch e.p.leaf {
	case timeLeaf:
		return e.timestamp(b)
	case quantityLeaf:
		return e.protoQuantity(b)
	}
	return e.intOrString(b)
}

// timestamp reads seconds = 1. An empty message is no time.
func (e *pathEval) timestamp(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	c, seconds := cursor{b: b}, int64(0)
	for c.next() {
		if c.num == 1 {
			seconds = int64(c.uint())
		}
	}
	if c.err != nil {
		return c.err
	}
	return e.time(time.Unix(seconds, 0))
}

// protoQuantity reads string = 1.
func (e *pathEval) protoQuantity(b []byte) error {
	c, text := cursor{b: b}, "0"
	for c.next() {
		if c.num == 1 {
			text = string(c.bytes())
		}
	}
	if c.err != nil {
		return c.err
	}
	return e.quantity(text)
}

// intOrString reads type = 1 (1 is a string), intVal = 2, strVal = 3.
func (e *pathEval) intOrString(b []byte) error {
	c, isString, number, text := cursor{b: b}, false, int32(0), ""
	for c.next() {
		switch c.num {
		case 1:
			isString = c.uint() == 1
		case 2:
			number = int32(c.uint())
		case 3:
			text = string(c.bytes())
		}
	}
	if c.err != nil {
		return c.err
	}
	if isString {
		return e.add(text)
	}
	return e.add(strconv.FormatInt(int64(number), 10))
}
