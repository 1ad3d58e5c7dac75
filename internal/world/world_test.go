package world

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/testlab"
)

var (
	firstSeed = flag.Uint64("seed", 0, "the first seed that TestWorld plays")
	seeds     = flag.Uint64("seeds", 200, "how many seeds TestWorld plays")
	withStory = flag.Bool("story", false, "have TestWorld tell all that happens in a failure")
	save      = flag.String("save", "", "folder in which TestWorld keeps the shortest scenarios")
	excuse    = flag.Bool("excuse", false, "have TestWorld log what may be a known fault (knownFaults) instead of failing")
	failures  = flag.Int("failures", 3, "after how many failures TestWorld stops")
)

// replays is how often a failure is played again: equal seeds give equal runs.
const replays = 20

// TestWorld plays what random seeds draw. Any violation is a bug of the agent or a wrong claim of
// docs/world.md.
func TestWorld(t *testing.T) { search(t, *seeds, job{}) }

// TestWorldOfClients plays clients alone, with lists from nowhere.
func TestWorldOfClients(t *testing.T) { search(t, max(*seeds, 200), job{Clients: true}) }

func search(t *testing.T, seeds uint64, j job) {
	var next, played, found atomic.Uint64
	exposes := exposedBy[*mutantName]
	next.Store(*firstSeed)
	var wg sync.WaitGroup
	for n := range max(2, runtime.NumCPU()) {
		wg.Go(func() {
			w := &worker{}
			if n == 0 { // which plays fewer seeds, if it looks for races
				w.program = os.Args[0]
			}
			defer w.stop()
			for {
				j := j
				j.Seed = next.Add(1) - 1
				if exposes != nil && !exposes(j.scenario()) {
					continue
				}
				if played.Add(1) > seeds || found.Load() >= uint64(*failures) {
					return
				}
				r := w.play(j)
				if known := j.scenario().knownFault(r); known != "" && *excuse {
					t.Logf("seed %d: %v: %s", j.Seed, r.Violations[0], known)
				} else if len(r.Violations) > 0 {
					found.Add(1)
					t.Error(explain(t.Name(), w, j, r))
				}
			}
		})
	}
	wg.Wait()
}

// explain reduces a failure, and says how to see it again.
func explain(test string, w *worker, j job, r result) string {
	var out strings.Builder
	fmt.Fprintf(&out, "seed %d:\n", j.Seed)
	for _, v := range r.Violations {
		fmt.Fprintf(&out, "  %v\n", v)
	}
	rule := r.Violations[0].Rule
	fails := func(s scenario) bool {
		rules := w.play(job{Scenario: &s}).rules()
		return rules[rule] && (rule == "catalogue" || !rules["catalogue"])
	}
	short := reduce(j.scenario(), fails)
	last := w.play(job{Scenario: &short, Story: true})
	fmt.Fprintf(&out, "the shortest scenario with a violation of %q:\n%s", rule, short)
	for _, v := range last.Violations {
		fmt.Fprintf(&out, "  %v\n", v)
	}
	for n := range replays {
		if again := w.play(job{Scenario: &short, Story: true}); again.Hash != last.Hash {
			fmt.Fprintf(&out, "and replay %d of it took another way: the world is not deterministic\n", n)
			break
		}
	}
	if *withStory {
		fmt.Fprintln(&out, strings.Join(last.Story, "\n"))
	}
	if *save != "" {
		file := filepath.Join(*save, fmt.Sprintf("%s-%s-%d.json", test, rule, j.Seed))
		data, err := json.MarshalIndent(short, "", "  ")
		if err == nil {
			err = os.WriteFile(file, append(data, '\n'), 0o644)
		}
		fmt.Fprintf(&out, "it is in %s (%v)\n", file, err)
	}
	fmt.Fprintf(&out, "play it again: go test ./internal/world -run '^%s$' -seed %d -seeds 1 -story\n", test, j.Seed)
	return out.String()
}

// TestFixtures plays scenarios in which something was wrong once.
func TestFixtures(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	w := &worker{}
	defer w.stop()
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			var s scenario
			require.NoError(t, json.Unmarshal(data, &s))
			require.Empty(t, w.play(job{Scenario: &s}).Violations)
		})
	}
}

// TestExpectedFailures plays scenarios in which something is still wrong. A file is named after its mark, the rule that is violated, and
// what is wrong. One that passes belongs to those of TestFixtures.
func TestExpectedFailures(t *testing.T) {
	files, err := filepath.Glob("testdata/expected/*.json")
	require.NoError(t, err)
	w := &worker{}
	defer w.stop()
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			var s scenario
			require.NoError(t, json.Unmarshal(data, &s))
			parts := strings.Split(name, ".")
			require.Len(t, parts, 3, "the mark, the rule and what is wrong")
			violated := w.play(job{Scenario: &s}).Violations
			for _, v := range violated {
				require.NotEqual(t, "catalogue", v.Rule, "%v", v)
			}
			testlab.ExpectedFailure(t, parts[0]+": "+strings.ReplaceAll(parts[2], "-", " "), func(t testing.TB) {
				for _, v := range violated {
					if v.Rule == parts[1] {
						t.Errorf("%v", v)
					}
				}
			})
		})
	}
}

// TestEqualSeedsGiveEqualRuns plays some seeds in two processes.
func TestEqualSeedsGiveEqualRuns(t *testing.T) {
	var workers [2]worker
	var hashes [2][]string
	var wg sync.WaitGroup
	for i := range workers {
		wg.Go(func() {
			defer workers[i].stop()
			for n := range uint64(40) {
				j := job{Seed: n / 2, Clients: n%2 == 1, Story: true}
				hashes[i] = append(hashes[i], fmt.Sprintf("%+v: %s", j, workers[i].play(j).Hash))
			}
		})
	}
	wg.Wait()
	require.Equal(t, hashes[0], hashes[1])
}
