package main

import (
	"crypto/md5"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"path"
	"slices"
	"strings"

	"sidetone/internal/brand"
	"sidetone/internal/platform/paths"
)

func (d *database) fill(tree Tree) error {
	version, err := d.release.installerVersion()
	if err != nil {
		return err
	}
	b, say := d.brand, installerMessages[d.lang]
	code := guidOf(b.Product.UpgradeGUID + " " + d.release.Version + " " + d.arch + " " + d.lang)
	name, v := b.Product.Program, b.Vendor
	d.add("Property",
		row("ALLUSERS", 1), row("ARPCOMMENTS", b.Product.Summary+". Vulnerabilities: "+v.Security),
		row("ARPCONTACT", v.Contact), row("ARPHELPLINK", v.Support),
		row("ARPNOMODIFY", 1), row("ARPPRODUCTICON", iconName), row("ARPURLINFOABOUT", v.URL), row("Manufacturer", v.Publisher),
		// Agents and trays are asked to end in a way of their own. The Restart Manager would kill them, and the clients' lists with them.
		row("MSIRESTARTMANAGERCONTROL", "Disable"),
		row("ProductCode", code), row("ProductLanguage", say.id), row("ProductName", b.Product.Name), row("ProductVersion", version),
		row("REINSTALLMODE", "amus"),    // every file belongs to this package alone, and is written whatever is there
		row("REBOOT", "ReallySuppress"), // for a file in use msiexec without a window would restart the machine at once
		// START, TRAY and CATALOGUE are not secure: a repair, which any user may start, would take them from that user.
		row("SecureCustomProperties", "NEWERFOUND;OLDFOUND"), row("UpgradeCode", "{"+b.Product.UpgradeGUID+"}"))
	d.add("Upgrade",
		row("{"+b.Product.UpgradeGUID+"}", "0.0.0", version, "", minInclusive|maxInclusive, "", "OLDFOUND"),
		row("{"+b.Product.UpgradeGUID+"}", version, "", "", onlyDetect, "", "NEWERFOUND"))
	newer := strings.ReplaceAll(say.newer, "{product}", b.Product.Name)
	d.add("LaunchCondition", row("Installed OR NOT NEWERFOUND", newer), row("Installed OR ALLUSERS=1", say.all),
		row("Installed OR WINDOWSBUILD>="+windows1809, say.old),
		row(`REMOVE~="ALL" OR START~="run" OR START~="task" OR START~="service" OR START~="none"`, say.start),
		// An agent would refuse a relative path as a policy. One that an older version has set does not stop an upgrade.
		row(`REMOVE~="ALL" OR NOT CATALOGUE OR CATALOGUE=OLDCATALOGUE OR CATALOGUE~="none" OR CATALOGUE><":\" OR CATALOGUE><":/" OR `+
			`CATALOGUE<<"\\" OR CATALOGUE<<"~"`, say.catalogue))
	d.add("Feature", row("Main", "", b.Product.Name, "", 1, 1, "", noAdvertising|noAbsence))
	d.add("Icon", row(iconName, iconName))
	d.add("Binary", row(setupName, setupName))
	d.files(tree)
	d.registration(name)
	d.actions()
	d.validation()
	return nil
}

// windows1809 is the build number of Windows 10 1809 and of Server 2019.
const windows1809 = "17763"

// Attributes, in the words of Windows Installer's documentation.
const (
	onlyDetect, minInclusive, maxInclusive = 2, 256, 512 // of a row of Upgrade
	noAdvertising, noAbsence               = 8, 16       // of a feature
	transitive, is64, keyInRegistry        = 64, 256, 4  // of a component
	localMachine                           = 2           // root of a registry's row
)

// component adds a component. Its code follows from what, and is the same in each release.
func (d *database) component(name, what, directory, key, condition string, attributes int) {
	i := slices.IndexFunc(d.tables, func(t table) bool { return t.name == "Component" })
	if i < 0 {
		i = len(d.tables)
		d.add("Component")
		d.add("FeatureComponents")
	}
	if condition != "" {
		attributes |= transitive
	}
	code := guidOf(d.brand.Product.UpgradeGUID + " component " + what)
	d.tables[i].rows = append(d.tables[i].rows, row(name, code, directory, attributes|is64, condition, key))
	d.tables[i+1].rows = append(d.tables[i+1].rows, row("Main", name))
}

// files adds the files of the tree, each as a component, in one cabinet. Nobody can choose another folder: what the system or all users
// start must be where only administrators may write.
func (d *database) files(tree Tree) {
	program := d.brand.Product.Program
	directories := [][]string{
		row("TARGETDIR", "", "SourceDir"), row("ProgramFiles64Folder", "TARGETDIR", "."),
		row("InstallFolder", "ProgramFiles64Folder", "D0|"+program),
	}
	known := map[string]string{".": "InstallFolder"}
	var files, hashes [][]string
	for i, f := range tree {
		folder, base := path.Split(f.Path)
		folder = path.Clean(folder)
		if known[folder] == "" {
			known[folder] = fmt.Sprintf("d%d", len(known))
			directories = append(directories, row(known[folder], "InstallFolder", fmt.Sprintf("D%d|%s", len(known), folder)))
		}
		version, language, condition := "", "", ""
		if path.Ext(base) == ".exe" {
			version, language = d.release.Version, "1033"
		} else {
			hashes = append(hashes, hashOf(fileKey(i), f.Data))
		}
		if f.Path == brand.ServiceOf(program) {
			condition = `START~="service"`
		}
		name := fileComponent(f.Path)
		d.component(name, "file "+strings.ToLower(f.Path), known[folder], fileKey(i), condition, 0)
		short := fmt.Sprintf("F%d.%.3s|%s", i, strings.ToUpper(strings.TrimPrefix(path.Ext(base), ".")), base)
		files = append(files, row(fileKey(i), name, short, len(f.Data), version, language, 512, i+1))
	}
	d.add("Directory", directories...)
	d.add("File", files...)
	d.add("MsiFileHash", hashes...)
	d.add("Media", row(1, len(tree), "", "#"+cabName, "", ""))
	d.add("RemoveFile",
		row("aside", fileComponent(program+".exe"), "*.old", "InstallFolder", 2), // when it is uninstalled
		row("next", fileComponent(program+".exe"), "*.new", "InstallFolder", 2))
}

// hashOf returns the row by which Windows Installer sees that a file without a version has changed: parts of its MD5, as signed numbers.
func hashOf(key string, data []byte) []string {
	sum := md5.Sum(data)
	list := row(key, 0)
	for part := range slices.Chunk(sum[:], 4) {
		list = append(list, fmt.Sprint(int32(binary.LittleEndian.Uint32(part))))
	}
	return list
}

// fileComponent names the component of the file at a path. Windows ignores the case of letters.
func fileComponent(path string) string {
	sum := sha256.Sum256([]byte(strings.ToLower(path)))
	return fmt.Sprintf("c.%x", sum[:12])
}

// registration adds what starts the agent and the tray, as 'service install --global' would.
func (d *database) registration(name string) {
	var rows [][]string
	ofService := fileComponent(brand.ServiceOf(name))
	value := func(component, condition, key, value, text string) {
		rows = append(rows, row(component, localMachine, key, value, text, component))
		d.component(component, component, "InstallFolder", component, condition, keyInRegistry)
	}
	const runKey = `Software\Microsoft\Windows\CurrentVersion\Run`
	tray, vendor := `"[InstallFolder]`+name+`w.exe"`, " --vendor="+d.brand.Vendor.ID
	value("run", `START~="run"`, runKey, name, tray+" host run"+vendor)
	value("tray", `TRAY<>"0"`, runKey, name+"-tray", tray+vendor)
	value("catalogue", `CATALOGUE AND NOT CATALOGUE~="none"`, paths.PackageKey(name), "catalogue", "[CATALOGUE]")
	value("package", "", `Software\`+name, "Package", "[ProductCode]")
	rows = append(rows, row("start", localMachine, `Software\`+name, "Start", "[START]", "package"),
		row("icon", localMachine, `Software\`+name, "Tray", "[TRAY]", "package"))
	events := `SYSTEM\CurrentControlSet\Services\EventLog\Application\` + name
	for value, text := range map[string]string{
		"EventMessageFile": `#%%SystemRoot%\System32\EventCreate.exe`, "CustomSource": "#1", "TypesSupported": "#7",
	} {
		rows = append(rows, row("event."+value, localMachine, events, value, text, "package")) // whatever starts the agents writes there
	}
	slices.SortFunc(rows, slices.Compare)
	d.add("Registry", rows...)

	const ownProcess, automatic, normal, vital = 0x10, 2, 1, 0x8000
	// This name, too, must belong to one service only, and products of two vendors may have the same name.
	shown := d.brand.Product.Name + " (" + name + ")"
	d.add("ServiceInstall", row("service", name, shown, ownProcess, automatic, normal|vital, "", "", "", "",
		name+` "[InstallFolder]`+name+`.exe" run`+vendor, ofService, d.brand.Product.Summary))
	const start, stopToUninstall, deleteToUninstall = 1, 0x20, 0x80
	d.add("ServiceControl",
		row("start", name, start, "", 0, ofService), row("stop", name, stopToUninstall|deleteToUninstall, "", 1, ofService))
}

func (d *database) actions() {
	name := d.brand.Product.Program
	var searches, locators [][]string
	for property, at := range map[string][2]string{
		"OLDSTART": {`Software\` + name, "Start"}, "OLDTRAY": {`Software\` + name, "Tray"}, "OLDCATALOGUE": {paths.PackageKey(name), "catalogue"},
		"WINDOWSBUILD": {`Software\Microsoft\Windows NT\CurrentVersion`, "CurrentBuildNumber"},
	} {
		const rawValue, in64 = 2, 16
		searches = append(searches, row(property, property))
		locators = append(locators, row(property, localMachine, at[0], at[1], rawValue|in64))
	}
	slices.SortFunc(searches, slices.Compare)
	slices.SortFunc(locators, slices.Compare)
	d.add("AppSearch", searches...)
	// Registry values have no signature, but Windows Installer wants the table.
	d.add("Signature")
	d.add("RegLocator", locators...)

	const setProperty, deferred, asSystem, goOn = 51, 0x400, 0x800, 0x40
	const rollback, commit = deferred | 0x100, deferred | 0x200
	const program = 2 | asSystem // of the table Binary
	const removed, changed = `REMOVE="ALL" AND NOT UPGRADINGPRODUCTCODE`, `(Installed OR OLDFOUND) AND NOT REMOVE="ALL"`
	// In an upgrade the removal of the old version does not put the old task back, where it is removed or replaced.
	const hadTask = `OLDSTART~="task" AND NOT UPGRADINGPRODUCTCODE`
	const taskGoes = `OLDSTART~="task" AND (` + removed + ` OR NOT START~="task")`
	d.add("CustomAction",
		row("KeepStart", setProperty, "START", "[OLDSTART]", ""), row("KeepTray", setProperty, "TRAY", "[OLDTRAY]", ""),
		row("KeepCatalogue", setProperty, "CATALOGUE", "[OLDCATALOGUE]", ""), row("DefaultStart", setProperty, "START", "run", ""),
		row("SetLocation", setProperty, "ARPINSTALLLOCATION", "[InstallFolder]", ""),
		row("MakeWay", program|deferred|goOn, setupName, d.call("make-way"), ""),
		row("EndAll", program|deferred|goOn, setupName, d.call("end", "[ProductCode]"), ""),
		// Runs once nothing can fail any more. Where rollback is disabled, Windows runs no such action.
		row("HandOver", program|commit|goOn, setupName, d.call("hand-over"), ""),
		row("HandOverAtOnce", program|deferred|goOn, setupName, d.call("hand-over"), ""),
		row("AddTask", program|deferred, setupName, d.addTask(), ""),
		row("UndoAddTask", program|rollback|goOn, setupName, d.call("remove-task"), ""),
		row("RemoveTask", program|deferred|goOn, setupName, d.call("remove-task"), ""),
		row("UndoRemoveTask", program|rollback|goOn, setupName, d.addTask(), ""),
		// There are tables for this, but Microsoft says that they do not work.
		row("ConfigureService", program|deferred|goOn, setupName, d.call("configure-service"), ""))
	before := [][]string{
		row("FindRelatedProducts", "", 25), row("ValidateProductID", "", 700), row("CostInitialize", "", 800), row("FileCost", "", 900),
		row("CostFinalize", "", 1000), row("SetLocation", "", 1010),
	}
	d.add("InstallUISequence", append(slices.Clone(before), row("ExecuteAction", "", 1300))...)
	d.add("InstallExecuteSequence", append(before,
		// RestrictedUserControl: an ordinary user runs the installation, whose properties do not count even if they get this far.
		row("AppSearch", "", 50), row("KeepStart", "NOT START OR RestrictedUserControl", 51),
		row("KeepTray", "NOT TRAY OR RestrictedUserControl", 52), row("KeepCatalogue", "NOT CATALOGUE OR RestrictedUserControl", 53),
		row("DefaultStart", "NOT START", 54), row("LaunchConditions", "", 100),
		row("MigrateFeatureStates", "", 1200), row("InstallValidate", "", 1400), row("InstallInitialize", "", 1500),
		row("MakeWay", changed, 1510), row("EndAll", removed, 1520),
		row("UndoRemoveTask", hadTask, 1530), row("RemoveTask", taskGoes, 1540),
		row("ProcessComponents", "", 1600), row("UnpublishFeatures", "", 1800), row("StopServices", "VersionNT", 1900),
		row("DeleteServices", "VersionNT", 2000), row("RemoveRegistryValues", "", 2600), row("RemoveFiles", "", 3500),
		row("InstallFiles", "", 4000), row("WriteRegistryValues", "", 5000), row("InstallServices", "VersionNT", 5800),
		row("ConfigureService", `START~="service" AND NOT REMOVE="ALL"`, 5860), row("StartServices", "VersionNT", 5900),
		row("UndoAddTask", `START~="task" AND NOT OLDSTART~="task" AND NOT REMOVE="ALL"`, 5910),
		row("AddTask", `START~="task" AND NOT REMOVE="ALL"`, 5920), row("InstallExecute", "", 5970),
		// Last: what both versions have in common stays, and nothing is missing for a moment. Wine removes the registration of all
		// products with the upgrade code, so this comes before the new one's.
		row("RemoveExistingProducts", "", 5980), row("RegisterUser", "", 6000), row("RegisterProduct", "", 6100),
		row("PublishFeatures", "", 6300), row("PublishProduct", "", 6400), row("HandOver", changed+" AND NOT RollbackDisabled", 6500),
		row("HandOverAtOnce", changed+" AND RollbackDisabled", 6510), row("InstallFinalize", "", 6600))...)
	d.add("AdminExecuteSequence", row("CostInitialize", "", 800), row("FileCost", "", 900), row("CostFinalize", "", 1000),
		row("InstallValidate", "", 1400), row("InstallInitialize", "", 1500), row("InstallAdminPackage", "", 3900),
		row("InstallFiles", "", 4000), row("InstallFinalize", "", 6600))
}

// call returns the command line of a verb of the package's own program. Nothing in it comes from the user.
func (d *database) call(verb string, more ...string) string {
	name := d.brand.Product.Program
	words := []string{verb, `"[InstallFolder]."`, name + ".exe", name + "w.exe", name + "-service.exe"}
	return strings.Join(append(words, more...), " ")
}

func (d *database) addTask() string {
	return d.call("add-task", "host", "run", "--vendor="+d.brand.Vendor.ID)
}
