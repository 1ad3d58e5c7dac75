package pulse

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMasterOf(t *testing.T) {
	const none = InvalidIndex
	group := func(g string) map[string]string {
		return map[string]string{"node.link-group": g, "node.group": "one clock"}
	}
	named := func(index uint32, name string) Source {
		return Source{Device: Device{Index: index, Name: name}, MonitorOfSinkIndex: none}
	}
	sources := []Source{named(1, "mic"), named(2, "desk"), {Device: Device{Index: 3, Name: "speaker.monitor"}, MonitorOfSinkIndex: 0}}
	byModule := Source{Device: Device{OwnerModule: 6}}
	byGroup := Source{Device: Device{OwnerModule: none, Properties: group("filter-7")}}
	ofModule := func(module, source uint32) SourceOutput { return SourceOutput{OwnerModule: module, Source: source} }
	ofGroup := func(g string, source uint32) SourceOutput {
		return SourceOutput{OwnerModule: none, Source: source, Properties: group(g)}
	}
	for name, c := range map[string]struct {
		of      Source
		outputs []SourceOutput
		want    string
	}{
		"no stream":                     {byModule, nil, ""},
		"a module's":                    {byModule, []SourceOutput{ofModule(5, 2), ofModule(6, 1), ofModule(none, 2)}, "mic"},
		"a group's":                     {byGroup, []SourceOutput{ofGroup("filter-8", 1), ofGroup("filter-7", 2)}, "desk"},
		"a group before a module":       {Source{Device: Device{OwnerModule: 6, Properties: group("a")}}, []SourceOutput{ofModule(6, 1), ofGroup("a", 2)}, "desk"},
		"neither module nor group":      {Source{Device: Device{OwnerModule: none}}, []SourceOutput{ofModule(none, 1)}, ""},
		"programs that record":          {byGroup, []SourceOutput{ofModule(none, 1), ofGroup("", 2)}, ""},
		"records nothing":               {byModule, []SourceOutput{ofModule(6, none)}, ""},
		"one of two records":            {byModule, []SourceOutput{ofModule(6, none), ofModule(6, 1)}, "mic"},
		"records what is not listed":    {byModule, []SourceOutput{ofModule(6, 1), ofModule(6, 9)}, ""},
		"two streams of one microphone": {byModule, []SourceOutput{ofModule(6, 1), ofModule(6, 1)}, "mic"},
		"several at once":               {byModule, []SourceOutput{{OwnerModule: 6, Source: 1, Several: true}}, ""},
		"two microphones":               {byModule, []SourceOutput{ofModule(6, 1), ofModule(6, 2)}, ""},
		"a monitor first":               {byGroup, []SourceOutput{ofGroup("filter-7", 3), ofGroup("filter-7", 1)}, "mic"},
		"a monitor last":                {byGroup, []SourceOutput{ofGroup("filter-7", 1), ofGroup("filter-7", 3)}, "mic"},
		"only a monitor":                {byGroup, []SourceOutput{ofGroup("filter-7", 3)}, "speaker.monitor"},
	} {
		require.Equal(t, c.want, Snapshot{Sources: sources, Outputs: c.outputs}.MasterOf(c.of), name)
	}
}
