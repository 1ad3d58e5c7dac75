//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/installer/signtest"
	"sidetone/internal/testlab"
	"sidetone/internal/texts"
)

// packageOf writes a package of a brand, and returns its path.
func packageOf(t *testing.T, d database, tree Tree) string {
	t.Helper()
	tree, err := tree.sorted()
	require.NoError(t, err)
	cab := cabinet(tree, release.Time, quick)
	icon, err := d.brand.icon()
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "package.msi")
	require.NoError(t, d.write(context.Background(), path, tree, cab, icon))
	return path
}

// exported are the rows of a table, with the columns first.
func exported(t *testing.T, path, table string) (rows [][]string) {
	t.Helper()
	cmd := exec.Command("msiinfo", "export", path, table)
	cmd.Dir = t.TempDir() // where it writes the streams of the table
	out, err := cmd.Output()
	require.NoError(t, err, table)
	for i, line := range strings.Split(strings.TrimRight(string(out), "\r\n\x00"), "\r\n") {
		if i != 1 && i != 2 { // types, and the table's name
			rows = append(rows, strings.Split(line, "\t"))
		}
	}
	return rows
}

// column are the values of one.
func column(rows [][]string, name string) (values []string) {
	i := slices.Index(rows[0], name)
	for _, r := range rows[1:] {
		values = append(values, r[i])
	}
	return values
}

func exampleTree() (tree Tree) {
	for _, path := range []string{
		"acme-agent.exe", "acme-agentw.exe", "acme-agent-service.exe", "acme-agent.brand.yaml", "catalogue/acme.yaml",
	} {
		tree.add(path, []byte(path))
	}
	return tree
}

// TestInstallerDatabase: each language has a package in whose tables nothing leads nowhere, and which is the same each time.
func TestInstallerDatabase(t *testing.T) {
	if testlab.RanUnraced(t) { // the tests of cabinets have their goroutines watched
		return
	}
	b, err := LoadBrand("brand.yaml")
	require.NoError(t, err)
	products := make(map[string]bool)
	for _, lang := range b.installerLanguages() {
		path := packageOf(t, database{brand: b, release: release, arch: "amd64", lang: lang}, exampleTree())
		one, err := os.ReadFile(path)
		require.NoError(t, err)
		two, err := os.ReadFile(packageOf(t, database{brand: b, release: release, arch: "amd64", lang: lang}, exampleTree()))
		require.NoError(t, err)
		require.Equal(t, one, two)

		components, files, rows := exported(t, path, "Component"), exported(t, path, "File"), exported(t, path, "Registry")
		names := column(components, "Component")
		require.Subset(t, append(column(files, "File"), column(rows, "Registry")...), column(components, "KeyPath"))
		for _, table := range []string{"File", "Registry", "FeatureComponents", "ServiceInstall", "ServiceControl", "RemoveFile"} {
			require.Subset(t, names, column(exported(t, path, table), "Component_"), table)
		}
		for _, id := range column(components, "ComponentId") {
			require.Regexp(t, `^\{[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}\}$`, id)
		}
		directories := column(exported(t, path, "Directory"), "Directory")
		require.Subset(t, directories, column(components, "Directory_"))
		for _, name := range directories {
			require.True(t, name == "TARGETDIR" || name != strings.ToUpper(name), "%s would be a property that callers may set", name)
		}
		actions := exported(t, path, "CustomAction")
		for i, target := range column(actions, "Target") {
			kind, err := strconv.Atoi(column(actions, "Type")[i])
			require.NoError(t, err)
			if kind&0x3f != 51 {
				require.Equal(t, 2, kind&0x3f, "what runs comes from the package, and opens no console")
				require.Equal(t, "setup.exe", column(actions, "Source")[i])
				own := strings.NewReplacer("[ProductCode]", "", "[InstallFolder]", "").Replace(target)
				require.NotContains(t, own, "[", "what runs as the system gets no property of a caller")
			}
		}
		sequence := exported(t, path, "InstallExecuteSequence")
		require.Subset(t, column(sequence, "Action"), column(actions, "Action"))
		require.Len(t, slices.Compact(slices.Sorted(slices.Values(column(sequence, "Sequence")))), len(sequence)-1, "one after another")
		require.Contains(t, exported(t, path, "LaunchCondition")[1][1]+exported(t, path, "LaunchCondition")[2][1], "Acme Headset Agent")

		product := regexp.MustCompile(`ProductCode\t(\S+)`).FindStringSubmatch(rowsText(exported(t, path, "Property")))[1]
		require.NotContains(t, products, product)
		products[product] = true
	}
	require.Equal(t, texts.Shipped.Languages(), b.installerLanguages())
}

// categories are what values of some may be; those of the others are texts.
var categories = map[string]*regexp.Regexp{
	"Identifier": regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.]*$`), "UpperCase": regexp.MustCompile(`^[A-Z_][A-Z0-9_.]*$`),
	"Guid": regexp.MustCompile(`^\{[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}\}$`), "Version": regexp.MustCompile(`^\d+(\.\d+){0,3}$`),
	"Language": regexp.MustCompile(`^\d+$`), "Filename": regexp.MustCompile(`^[A-Z0-9]{1,8}\.[A-Z]{1,3}\|[A-Za-z0-9._-]+$`),
	"RegPath": regexp.MustCompile(`^[^\\].*[^\\]$`), "Cabinet": regexp.MustCompile(`^#`),
}

// TestTablesHoldWhatTheySay: every column of every table is described in one of them, and every value is as that says.
func TestTablesHoldWhatTheySay(t *testing.T) {
	b, err := LoadBrand("brand.yaml")
	require.NoError(t, err)
	path := packageOf(t, database{brand: b, release: release, arch: "amd64", lang: "en"}, exampleTree())
	out, err := exec.Command("msiinfo", "tables", path).Output()
	require.NoError(t, err)
	tables := make(map[string][][]string)
	for _, name := range strings.Fields(string(out)) {
		if name != "_SummaryInformation" && name != "_ForceCodepage" {
			tables[name] = exported(t, path, name)
		}
	}
	described := make(map[string][]string)
	for _, r := range tables["_Validation"][1:] {
		described[r[0]+"."+r[1]] = r
	}
	for name, rows := range tables {
		for i, title := range rows[0] {
			says := described[name+"."+title]
			delete(described, name+"."+title)
			require.NotNil(t, says, "%s.%s", name, title)
			nullable, low, high, of, category, only := says[2], says[3], says[4], says[5], says[7], says[8]
			for _, r := range rows[1:] {
				what, n := fmt.Sprintf("%s.%s of %s", name, title, r), 0
				if r[i] == "" {
					require.Equal(t, "Y", nullable, what)
					continue
				}
				if low != "" {
					n, err = strconv.Atoi(r[i])
					require.NoError(t, err, what)
					require.GreaterOrEqual(t, n, must(strconv.Atoi(low)), what)
					require.LessOrEqual(t, n, must(strconv.Atoi(high)), what)
				}
				if only != "" {
					require.Contains(t, strings.Split(only, ";"), r[i], what)
				}
				if pattern := categories[category]; pattern != nil && name != "_Validation" {
					require.Regexp(t, pattern, r[i], what)
				}
				if of != "" && category != "Version" {
					var keys []string
					for other := range strings.SplitSeq(of, ";") {
						keys = append(keys, column(tables[other], tables[other][0][0])...)
					}
					require.Contains(t, keys, r[i], what)
				}
			}
		}
	}
	require.Empty(t, described, "of columns that there are not")
}

func must(n int, err error) int {
	if err != nil {
		panic(err)
	}
	return n
}

func rowsText(rows [][]string) (text string) {
	for _, r := range rows {
		text += strings.Join(r, "\t") + "\n"
	}
	return text
}

// TestWhatUsersMayAskForIsNotTheirs: a repair may need no rights, and runs as the system. Nothing of it comes from its caller.
func TestWhatUsersMayAskForIsNotTheirs(t *testing.T) {
	b, err := LoadBrand("brand.yaml")
	require.NoError(t, err)
	path := packageOf(t, database{brand: b, release: release, arch: "amd64", lang: "en"}, exampleTree())
	properties := rowsText(exported(t, path, "Property"))
	require.Contains(t, properties, "SecureCustomProperties\tNEWERFOUND;OLDFOUND\n")
	require.Contains(t, properties, "REBOOT\tReallySuppress\n")
	require.Contains(t, properties, ". Vulnerabilities: "+b.Vendor.Security+"\n")
	for _, action := range column(exported(t, path, "InstallUISequence"), "Action") {
		require.NotRegexp(t, "AppSearch|Keep|Default|LaunchConditions", action, "only what the system finds itself counts")
	}
	require.Len(t, exported(t, path, "Signature"), 1, "empty, but there")
	actions, sequence := exported(t, path, "CustomAction"), rowsText(exported(t, path, "InstallExecuteSequence"))
	catalogue := slices.IndexFunc(exported(t, path, "Component"), func(r []string) bool { return r[0] == "catalogue" })
	require.Equal(t, []string{fmt.Sprint(transitive | is64 | keyInRegistry), `CATALOGUE AND NOT CATALOGUE~="none"`},
		exported(t, path, "Component")[catalogue][3:5], "it can be taken back")
	for _, property := range []string{"START", "TRAY", "CATALOGUE"} {
		require.NotContains(t, rowsText(exported(t, path, "RegLocator")), "Policies", "what the package finds there is not its own")
		i := slices.Index(column(actions, "Source"), property)
		require.Equal(t, "[OLD"+property+"]", column(actions, "Target")[i])
		require.Contains(t, sequence, column(actions, "Action")[i]+"\tNOT "+property+" OR RestrictedUserControl\t")
	}
}

// TestComponentsAreOfPaths: the code of a component is that of what Windows has at a path, which is the same in all letters. Were it
// another one, the end of an upgrade would remove what the upgrade has just written.
func TestComponentsAreOfPaths(t *testing.T) {
	if testlab.RanUnraced(t) { // the tests of cabinets have their goroutines watched
		return
	}
	b, err := LoadBrand("brand.yaml")
	require.NoError(t, err)
	components := func(catalogues ...string) (codes []string) {
		tree := exampleTree()[:4]
		for _, name := range catalogues {
			tree.add("catalogue/"+name, nil)
		}
		rows := exported(t, packageOf(t, database{brand: b, release: release, arch: "amd64", lang: "en"}, tree), "Component")
		codes = column(rows, "ComponentId")
		for _, list := range [][]string{codes, column(rows, "Component")} {
			require.Len(t, slices.Compact(slices.Sorted(slices.Values(list))), len(list), "each is another one")
		}
		return codes
	}
	require.Equal(t, components("acme.yaml"), components("Acme.yaml"))
	require.NotEqual(t, components("a-b.yaml"), components("a_b.yaml"))
	components("a-b.yaml", "a_b.yaml")
}

// TestWhatIsUndone where an installation fails: tasks are, and agents are asked to go on as new programs when it can fail no more.
func TestWhatIsUndone(t *testing.T) {
	b, err := LoadBrand("brand.yaml")
	require.NoError(t, err)
	path := packageOf(t, database{brand: b, release: release, arch: "amd64", lang: "en"}, exampleTree())
	actions, sequence := exported(t, path, "CustomAction"), exported(t, path, "InstallExecuteSequence")
	of := func(rows [][]string, action, name string) string {
		i := slices.Index(column(rows, "Action"), action)
		require.GreaterOrEqual(t, i, 0, action)
		return column(rows, name)[i]
	}
	number := func(rows [][]string, action, name string) int {
		n, err := strconv.Atoi(of(rows, action, name))
		require.NoError(t, err)
		return n
	}
	const whenRun, atOnce, rollback, commit = 0x700, 0x400, 0x500, 0x600
	for action, when := range map[string]int{
		"HandOver": commit, "HandOverAtOnce": atOnce,
		"AddTask": atOnce, "UndoAddTask": rollback, "RemoveTask": atOnce, "UndoRemoveTask": rollback,
	} {
		require.Equal(t, when, number(actions, action, "Type")&whenRun, action)
	}
	require.Contains(t, of(sequence, "HandOver", "Condition"), " AND NOT RollbackDisabled", "Windows runs it only where it could go back")
	require.Equal(t, strings.Replace(of(sequence, "HandOver", "Condition"), "NOT RollbackDisabled", "RollbackDisabled", 1),
		of(sequence, "HandOverAtOnce", "Condition"))
	for before, after := range map[string]string{
		"UndoAddTask": "AddTask", "UndoRemoveTask": "RemoveTask", "RemoveExistingProducts": "HandOver", "HandOver": "InstallFinalize",
	} {
		require.Less(t, number(sequence, before, "Sequence"), number(sequence, after, "Sequence"), before)
	}
	require.Equal(t, `OLDSTART~="task" AND NOT UPGRADINGPRODUCTCODE`, of(sequence, "UndoRemoveTask", "Condition"),
		"also where it is written anew, for which it is removed before")
	require.Less(t, number(sequence, "UndoRemoveTask", "Sequence"), number(sequence, "AddTask", "Sequence"))
	require.Equal(t, `START~="task" AND NOT OLDSTART~="task" AND NOT REMOVE="ALL"`, of(sequence, "UndoAddTask", "Condition"),
		"also at an upgrade that adds it")
	require.Equal(t, `add-task "[InstallFolder]." acme-agent.exe acme-agentw.exe acme-agent-service.exe host run --vendor=acme`,
		of(actions, "AddTask", "Target"), "all of it is the package's")
	require.Equal(t, of(actions, "AddTask", "Target"), of(actions, "UndoRemoveTask", "Target"))
	require.Equal(t, of(actions, "RemoveTask", "Target"), of(actions, "UndoAddTask", "Target"))
}

// TestServiceIsWhatItWas also after a repair that has made it anew: it has few privileges, and Windows starts it again after failures.
func TestServiceIsWhatItWas(t *testing.T) {
	b, err := LoadBrand("brand.yaml")
	require.NoError(t, err)
	path := packageOf(t, database{brand: b, release: release, arch: "amd64", lang: "en"}, exampleTree())
	require.Contains(t, rowsText(exported(t, path, "CustomAction")),
		`configure-service "[InstallFolder]." acme-agent.exe acme-agentw.exe acme-agent-service.exe`)
	require.Equal(t, []string{"Acme Headset Agent (acme-agent)"}, column(exported(t, path, "ServiceInstall"), "DisplayName"),
		"which no other service has")
	require.Regexp(t, `ConfigureService\tSTART~="service" AND NOT REMOVE="ALL"\t58\d\d\n`,
		rowsText(exported(t, path, "InstallExecuteSequence")), "before it is started")
}

// TestHashesOfFiles: by them Windows Installer sees that a file without a version is another one.
func TestHashesOfFiles(t *testing.T) {
	b, err := LoadBrand("brand.yaml")
	require.NoError(t, err)
	tree := exampleTree()
	tree[4].Data = []byte("abc") // of which everybody knows the MD5
	rows := exported(t, packageOf(t, database{brand: b, release: release, arch: "amd64", lang: "en"}, tree), "MsiFileHash")
	files := exported(t, packageOf(t, database{brand: b, release: release, arch: "amd64", lang: "en"}, tree), "File")
	var unversioned []string
	for i, key := range column(files, "File") {
		if column(files, "Version")[i] == "" {
			unversioned = append(unversioned, key)
		}
	}
	require.Equal(t, unversioned, column(rows, "File_"))
	sum, err := hex.DecodeString("900150983cd24fb0d6963f7d28e17f72")
	require.NoError(t, err)
	var want []string
	for i := range 4 {
		want = append(want, fmt.Sprint(int32(binary.LittleEndian.Uint32(sum[4*i:]))))
	}
	require.Contains(t, rows, append([]string{unversioned[1], "0"}, want...))
}

// TestPackageCode differs wherever a byte does: Windows keeps one package of each.
func TestPackageCode(t *testing.T) {
	if testlab.RanUnraced(t) { // the tests of cabinets have their goroutines watched
		return
	}
	b, err := LoadBrand("brand.yaml")
	require.NoError(t, err)
	codes := make(map[string]bool)
	changed := exampleTree()
	changed[4].Data = []byte("catalogue/acme.yamm")
	for _, d := range []database{
		{brand: b, release: release, arch: "amd64", lang: "en"},
		{brand: b, release: release, arch: "arm64", lang: "en"},
		{brand: b, release: release, arch: "amd64", lang: "de"},
	} {
		for _, tree := range []Tree{exampleTree(), changed} {
			out, err := exec.Command("msiinfo", "suminfo", packageOf(t, d, tree)).Output()
			require.NoError(t, err)
			code := regexp.MustCompile(`Revision number \(UUID\): (\S+)`).FindStringSubmatch(string(out))[1]
			require.NotContains(t, codes, code)
			codes[code] = true
			require.Contains(t, string(out), "Template: "+map[string]string{"amd64": "x64", "arm64": "Arm64"}[d.arch])
		}
	}
}

// TestPackageIsSigned by the command of docs/packaging.md: it says to administrators what it is, and a byte that has changed is seen, in
// a file as in a name.
func TestPackageIsSigned(t *testing.T) {
	b, err := LoadBrand("brand.yaml")
	require.NoError(t, err)
	ca := signtest.NewAuthority(t)
	path := packageOf(t, database{brand: b, release: release, arch: "amd64", lang: "en"}, exampleTree())
	require.NoError(t, options{sign: ca.Command(t, "../docs")}.signFile(t.Context(), b, path))
	signed, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, ca.Verify(t, signed, "Text description: Acme Headset Agent", "URL description: https://acme.example"))
	flipped := func(at int) []byte {
		other := bytes.Clone(signed)
		other[at] ^= 1
		return other
	}
	file := bytes.Index(signed, []byte("MSCF"))
	require.Positive(t, file)
	require.Error(t, ca.Verify(t, flipped(file+40)))
	name := []byte("\x40\x48\x3f\x3b\xf2\x43\x38\x44\xb1\x45") // _Columns, as the format has it
	entry := bytes.Index(signed, name)
	require.Positive(t, entry)
	require.Error(t, ca.Verify(t, flipped(entry+len(name)-2)))
}
