package timeline

import "slices"

// slots number things of the same name that exist at the same time. One that comes after another of its name has gone takes over its
// number, and with that its lane: a client that restarts stays in the same lane.
type slots struct {
	list  []slot
	index map[named]int // of the slot of each
}

func newSlots() slots { return slots{index: make(map[named]int)} }

type named struct{ id, name string }

type slot struct {
	named
	number int // from 1 on, for each name
	alive  bool
	pass   uint64 // in which it was last mentioned
}

// markPresent notes that a thing is there, if it has a slot.
func (s *slots) markPresent(id, name string, pass uint64) {
	if i, ok := s.index[named{id, name}]; ok {
		s.list[i].pass = pass
	}
}

// markGone frees the slots of those that were not mentioned in this pass.
func (s *slots) markGone(pass uint64) {
	for i := range s.list {
		s.list[i].alive = s.list[i].pass == pass
	}
}

// numberOf returns the number of a thing, and gives it one if necessary.
func (s *slots) numberOf(id, name string) int {
	who := named{id, name}
	i, ok := s.index[who]
	if !ok {
		i = s.free(name)
		s.list[i].named = who
		s.index[who] = i
	}
	s.list[i].alive = true
	return s.list[i].number
}

// free returns a free slot of that name, and makes one if necessary.
func (s *slots) free(name string) int {
	highest := 0
	for i, other := range s.list {
		if other.name == name && !other.alive {
			delete(s.index, other.named)
			return i
		}
		if other.name == name {
			highest = max(highest, other.number)
		}
	}
	s.list = append(s.list, slot{number: highest + 1})
	return len(s.list) - 1
}

// forget drops those that have gone and whose names are not listed.
func (s *slots) forget(names map[string]bool) {
	kept := newSlots()
	for _, one := range s.list {
		if one.alive || names[one.name] {
			kept.index[one.named] = len(kept.list)
			kept.list = append(kept.list, one)
		}
	}
	*s = kept
}

func (s *slots) live(name string, number int) bool {
	return slices.ContainsFunc(s.list, func(one slot) bool { return one.name == name && one.number == number && one.alive })
}
