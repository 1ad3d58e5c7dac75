package timeline

import "slices"

// slots number things of one name that are there at the same time. Who comes after another of its name has gone
// takes its place, and with that its lane: a client that restarts goes on in the same.
type slots []slot

type slot struct {
	id, name string
	number   int // from 1 on, for each name
	alive    bool
	pass     uint64 // when it was named last
}

// place finds the number of a thing, or gives it one.
func (all *slots) place(id, name string, pass uint64) int {
	free, highest := -1, 0
	for i, s := range *all {
		if s.name != name {
			continue
		}
		if s.id == id {
			(*all)[i].alive, (*all)[i].pass = true, pass
			return s.number
		}
		if !s.alive && free < 0 {
			free = i
		}
		highest = max(highest, s.number)
	}
	if free >= 0 {
		(*all)[free] = slot{id, name, (*all)[free].number, true, pass}
		return (*all)[free].number
	}
	*all = append(*all, slot{id, name, highest + 1, true, pass})
	return highest + 1
}

// leave frees the places of those that were not named in this pass.
func (all slots) leave(pass uint64) {
	for i := range all {
		all[i].alive = all[i].pass == pass
	}
}

// forget drops those that have gone and whose name is none of these.
func (all *slots) forget(names map[string]bool) {
	*all = slices.DeleteFunc(*all, func(s slot) bool { return !s.alive && !names[s.name] })
}

func (all slots) live(name string, number int) bool {
	for _, s := range all {
		if s.name == name && s.number == number {
			return s.alive
		}
	}
	return false
}
