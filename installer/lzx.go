package main

import (
	"cmp"
	"math"
	"runtime"
	"slices"
	"sync"
)

// Parameters of LZX, as the Microsoft Cabinet SDK describes it, with a window of 2 MB.
const (
	lzxOfCabinets      = 3 | windowBits<<8
	frameSize          = 32 << 10 // a block of a cabinet; no match crosses its end
	blockFrames        = 4        // frames that share codes
	windowBits         = 21
	maxDistance        = 1<<windowBits - 3
	minMatch, maxMatch = 2, 257
	slots              = 50 // of distances
	mainWords          = 256 + 8*slots
	lengthWords        = 249 // from 9 on
	longestWord        = 16  // bits
	codeWords          = 20  // by which lengths of words are said
	longestCodeWord    = 15
)

// wholeMatch is the length from which no shorter part of a match is tried.
const wholeMatch = 64

// effort is how many places are searched for a match, and how often a block is parsed anew with the prices of its own codes.
type effort struct{ places, passes int }

var thorough, quick = effort{48, 2}, effort{4, 1}

// A token is a match or, without a distance, a byte.
type token struct{ length, distance int }

// recent holds the last three distances, which have slots of their own.
type recent [3]int

// slotOf returns the slot of a distance, and the further bits that tell it from the slot's other distances.
func (r *recent) slotOf(distance int) (slot, further, bits int) {
	if i := slices.Index(r[:], distance); i >= 0 {
		return i, 0, 0
	}
	distance += 2
	slot, found := slices.BinarySearch(slotFirst[:], distance)
	if !found {
		slot--
	}
	return slot, distance - slotFirst[slot], slotBits(slot)
}

func (r *recent) use(distance int) {
	if i := slices.Index(r[:], distance); i >= 0 {
		r[0], r[i] = r[i], r[0]
	} else {
		*r = recent{distance, r[0], r[1]}
	}
}

// words are how a token is written: a word of the main code, one of the code of lengths (-1: none), and further bits of the distance.
type words struct{ main, length, further, bits int }

// wordsOf returns the words of a token that stands for the beginning of a text, and makes its distance the last one.
func (r *recent) wordsOf(t token, text []byte) words {
	if t.distance == 0 {
		return words{main: int(text[0]), length: -1}
	}
	slot, further, bits := r.slotOf(t.distance)
	r.use(t.distance)
	w := words{256 + 8*slot + min(t.length-minMatch, 7), -1, further, bits}
	if t.length > 8 {
		w.length = t.length - 9
	}
	return w
}

func slotBits(slot int) int { return min(17, max(0, slot/2-1)) }

// slotFirst is the first distance of each slot.
var slotFirst = func() (first [slots]int) {
	for i := range slots - 1 {
		first[i+1] = first[i] + 1<<slotBits(i)
	}
	return first
}()

// lzx compresses data into frames, one for each 32 KB.
func lzx(all []byte, how effort) (frames [][]byte) {
	before := chains(all)
	const size = blockFrames * frameSize
	blocks := make([][]token, (len(all)+size-1)/size)
	var busy sync.WaitGroup
	free := make(chan struct{}, runtime.NumCPU())
	for i := range blocks {
		free <- struct{}{}
		busy.Go(func() {
			blocks[i] = parsed(all, before, how, i*size, min(len(all), (i+1)*size))
			<-free
		})
	}
	busy.Wait()
	e := encoder{recent: recent{1, 1, 1}}
	e.write(0, 1) // the targets of calls in programs are not translated
	for i, tokens := range blocks {
		frames = append(frames, e.block(all[i*size:], tokens)...)
	}
	return frames
}

// chains returns, for each place, the last place before it that may have the same three bytes, plus one.
func chains(all []byte) []int32 {
	before, last := make([]int32, len(all)), make([]int32, 1<<16)
	for i := range max(0, len(all)-2) {
		hash := (uint32(all[i])<<16 | uint32(all[i+1])<<8 | uint32(all[i+2])) * 0x9E3779B1 >> 16
		before[i], last[hash] = last[hash], int32(i+1)
	}
	return before
}

// matches returns the matches at a place, each longer and farther away than the one before, up to a length.
func matches(all []byte, before []int32, places, i, most int) (found []token) {
	length := minMatch
	for at, n := int(before[i])-1, places; at >= 0 && i-at <= maxDistance && n > 0 && length < most; at, n = int(before[at])-1, n-1 {
		if all[at+length] == all[i+length] {
			if same := common(all[at:], all[i:], most); same > length {
				length = same
				found = append(found, token{same, i - at})
			}
		}
	}
	return found
}

// common returns the length of the common beginning of two texts, up to most.
func common(a, b []byte, most int) (n int) {
	for n < most && a[n] == b[n] {
		n++
	}
	return n
}

// parsed returns the tokens of a block. The prices of tokens follow from the block's codes, and the codes from the cheapest tokens.
func parsed(all []byte, before []int32, how effort, from, to int) (tokens []token) {
	found := make([][]token, to-from)
	for i := range found {
		most := min(maxMatch, to-from-i, frameSize-i%frameSize)
		found[i] = matches(all, before, how.places, from+i, most)
	}
	p := new(usage).prices()
	for range how.passes {
		tokens = cheapest(all, from, to, found, p)
		used, r := new(usage), recent{1, 1, 1}
		used.count(all[from:], tokens, &r)
		p = used.prices()
	}
	return tokens
}

// cheapest returns the tokens that take the fewest bits.
func cheapest(all []byte, from, to int, found [][]token, p *prices) (tokens []token) {
	type arrival struct {
		price float64
		by    token
		recent
	}
	best := make([]arrival, to-from+1)
	for i := range best[1:] {
		best[i+1].price = math.Inf(1)
	}
	best[0].recent = recent{1, 1, 1}
	for i := range to - from {
		here := &best[i]
		if price := here.price + p.main[all[from+i]]; price < best[i+1].price {
			best[i+1] = arrival{price, token{length: 1}, here.recent}
		}
		take := func(m token, shortest int) {
			slot, _, bits := here.slotOf(m.distance)
			next := here.recent
			next.use(m.distance)
			if m.length >= wholeMatch {
				shortest = m.length
			}
			for length := shortest; length <= m.length; length++ {
				price := here.price + p.main[256+8*slot+min(length-minMatch, 7)] + float64(bits)
				if length > 8 {
					price += p.length[length-9]
				}
				if price < best[i+length].price {
					best[i+length] = arrival{price, token{length, m.distance}, next}
				}
			}
		}
		most := min(maxMatch, to-from-i, frameSize-i%frameSize)
		for _, distance := range here.recent {
			if distance <= from+i {
				take(token{common(all[from+i-distance:], all[from+i:], most), distance}, minMatch)
			}
		}
		shortest := minMatch
		for _, m := range found[i] {
			take(m, shortest)
			shortest = m.length + 1
		}
	}
	for i := to - from; i > 0; i -= best[i].by.length {
		tokens = append(tokens, best[i].by)
	}
	slices.Reverse(tokens)
	return tokens
}

// usage counts how often each word is used.
type usage struct {
	main   [mainWords]int
	length [lengthWords]int
}

// count adds the words of tokens that stand for a text.
func (u *usage) count(text []byte, tokens []token, r *recent) {
	for _, t := range tokens {
		w := r.wordsOf(t, text)
		u.main[w.main]++
		if w.length >= 0 {
			u.length[w.length]++
		}
		text = text[t.length:]
	}
}

type prices struct {
	main   [mainWords]float64
	length [lengthWords]float64
}

func (u *usage) prices() *prices {
	p := new(prices)
	for _, c := range []struct {
		used   []int
		prices []float64
	}{{u.main[:], p.main[:]}, {u.length[:], p.length[:]}} {
		total := 1
		for _, n := range c.used {
			total += n
		}
		for i, n := range c.used {
			c.prices[i] = math.Log2(float64(total)) - math.Log2(max(float64(n), 0.4))
		}
	}
	if u.main == [mainWords]int{} { // nothing is known yet
		for i := range p.main {
			p.main[i] = 9
		}
		for i := range p.length {
			p.length[i] = 6
		}
	}
	return p
}

// wordLengths returns the lengths of the words of an optimal code in which no word is longer than a limit (package-merge).
func wordLengths(used []int, limit int) []int {
	type coins struct {
		worth   int
		symbols []int
	}
	byWorth := func(a, b coins) int { return cmp.Compare(a.worth, b.worth) }
	var single, all []coins
	for s, n := range used {
		if n > 0 || s < 2 { // not every reader takes a code with less than two words
			single = append(single, coins{max(n, 1), []int{s}})
		}
	}
	slices.SortStableFunc(single, byWorth)
	for range limit {
		pairs := slices.Clone(single)
		for i := 1; i < len(all); i += 2 {
			pairs = append(pairs, coins{all[i-1].worth + all[i].worth, slices.Concat(all[i-1].symbols, all[i].symbols)})
		}
		slices.SortStableFunc(pairs, byWorth)
		all = pairs
	}
	lengths := make([]int, len(used))
	for _, c := range all[:2*len(single)-2] {
		for _, s := range c.symbols {
			lengths[s]++
		}
	}
	return lengths
}

// codeOf returns the words of a code, from their lengths.
func codeOf(lengths []int) []int {
	all, next := make([]int, len(lengths)), 0
	for length := 1; length <= longestWord; length++ {
		for s, l := range lengths {
			if l == length {
				all[s] = next
				next++
			}
		}
		next <<= 1
	}
	return all
}

// encoder writes frames: words of 16 bits, the highest bit first.
type encoder struct {
	recent
	mainLengths   [mainWords]int // of the block before
	lengthLengths [lengthWords]int
	out           []byte
	held          uint64
	n             int
}

func (e *encoder) write(value, bits int) {
	e.held = e.held<<bits | uint64(value)
	for e.n += bits; e.n >= 16; e.n -= 16 {
		word := uint16(e.held >> (e.n - 16))
		e.out = append(e.out, byte(word), byte(word>>8))
	}
}

// frame returns what was written since the last frame, in whole words of 16 bits.
func (e *encoder) frame() (frame []byte) {
	if e.n > 0 {
		e.write(0, 16-e.n)
	}
	frame, e.out = e.out, nil
	return frame
}

// block writes tokens that stand for the beginning of a text.
func (e *encoder) block(text []byte, tokens []token) (frames [][]byte) {
	used, r := new(usage), e.recent
	used.count(text, tokens, &r)
	size := 0
	for _, t := range tokens {
		size += t.length
	}
	const verbatim = 1
	e.write(verbatim, 3)
	e.write(size, 24)
	mainLengths, lengthLengths := wordLengths(used.main[:], longestWord), wordLengths(used.length[:], longestWord)
	e.lengths(e.mainLengths[:256], mainLengths[:256])
	e.lengths(e.mainLengths[256:], mainLengths[256:])
	e.lengths(e.lengthLengths[:], lengthLengths)
	mains, lengths := codeOf(mainLengths), codeOf(lengthLengths)
	at := 0
	for _, t := range tokens {
		w := e.wordsOf(t, text[at:])
		e.write(mains[w.main], mainLengths[w.main])
		if w.length >= 0 {
			e.write(lengths[w.length], lengthLengths[w.length])
		}
		e.write(w.further, w.bits)
		at += t.length
		if at%frameSize == 0 || at == size {
			frames = append(frames, e.frame())
		}
	}
	return frames
}

// lengths writes the lengths of a code's words, in a code of their own, as differences from the lengths in the block before.
func (e *encoder) lengths(before, now []int) {
	type said struct{ word, further, bits int }
	var all []said
	used := make([]int, codeWords)
	for i := 0; i < len(now); {
		n := 0
		for i+n < len(now) && now[i+n] == 0 && n < 51 {
			n++
		}
		switch {
		case n >= 20:
			all = append(all, said{18, n - 20, 5})
		case n >= 4:
			all = append(all, said{17, n - 4, 4})
		default:
			n = 1
			all = append(all, said{(before[i] - now[i] + 17) % 17, 0, 0})
		}
		used[all[len(all)-1].word]++
		i += n
	}
	copy(before, now)
	lengths := wordLengths(used, longestCodeWord)
	for _, l := range lengths {
		e.write(l, 4)
	}
	code := codeOf(lengths)
	for _, s := range all {
		e.write(code[s.word], lengths[s.word])
		e.write(s.further, s.bits)
	}
}
