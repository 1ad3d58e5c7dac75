package main

import (
	"slices"
	"strings"
)

// schema holds the columns of each table, from Microsoft's documentation. A column is NAME:TYPE:CONTENT; a star ends the name of one that
// is part of the key. TYPE is in the letters of the format: capital where the value may be empty. CONTENT is a category, a range, or all
// possible values after =; after > are the tables of which the column is a key.
var schema = map[string]string{
	"AdminExecuteSequence": "Action*:s72:Identifier Condition:S255:Condition Sequence:I2:-4..32767",
	"AppSearch":            "Property*:s72:Identifier Signature_*:s72:Identifier>RegLocator;Signature",
	"Binary":               "Name*:s72:Identifier Data:v0:Binary",
	"Component": "Component*:s72:Identifier ComponentId:S38:Guid Directory_:s72:Identifier>Directory Attributes:i2: " +
		"Condition:S255:Condition KeyPath:S72:Identifier>File;Registry",
	"CustomAction": "Action*:s72:Identifier Type:i2:1..32767 Source:S72:CustomSource Target:S255:Formatted ExtendedType:I4:0..2147483647",
	"Directory":    "Directory*:s72:Identifier Directory_Parent:S72:Identifier>Directory DefaultDir:l255:DefaultDir",
	"Feature": "Feature*:s38:Identifier Feature_Parent:S38:Identifier>Feature Title:L64:Text Description:L255:Text Display:I2:0..32767 " +
		"Level:i2:0..32767 Directory_:S72:UpperCase>Directory Attributes:i2:=0;1;2;4;5;6;8;9;10;16;17;18;20;21;22;24;25;26",
	"FeatureComponents": "Feature_*:s38:Identifier>Feature Component_*:s72:Identifier>Component",
	"File": "File*:s72:Identifier Component_:s72:Identifier>Component FileName:l255:Filename FileSize:i4:0..2147483647 " +
		"Version:S72:Version>File Language:S20:Language Attributes:I2:0..32767 Sequence:i2:1..32767",
	"Icon":                   "Name*:s72:Identifier Data:v0:Binary",
	"InstallExecuteSequence": "Action*:s72:Identifier Condition:S255:Condition Sequence:I2:-4..32767",
	"InstallUISequence":      "Action*:s72:Identifier Condition:S255:Condition Sequence:I2:-4..32767",
	"LaunchCondition":        "Condition*:s255:Condition Description:l255:Formatted",
	"Media": "DiskId*:i2:1..32767 LastSequence:i2:0..32767 DiskPrompt:L64:Text Cabinet:S255:Cabinet VolumeLabel:S32:Text " +
		"Source:S72:Property",
	"MsiFileHash": "File_*:s72:Identifier>File Options:i2:0..32767 HashPart1:i4: HashPart2:i4: HashPart3:i4: HashPart4:i4:",
	"Property":    "Property*:s72:Identifier Value:l0:Text",
	"Registry": "Registry*:s72:Identifier Root:i2:-1..3 Key:l255:RegPath Name:L255:Formatted Value:L0:Formatted " +
		"Component_:s72:Identifier>Component",
	"RegLocator": "Signature_*:s72:Identifier Root:i2:0..3 Key:s255:RegPath Name:S255:Formatted Type:I2:0..18",
	"RemoveFile": "FileKey*:s72:Identifier Component_:s72:Identifier>Component FileName:L255:WildCardFilename DirProperty:s72:Identifier " +
		"InstallMode:i2:=1;2;3",
	"ServiceControl": "ServiceControl*:s72:Identifier Name:l255:Formatted Event:i2:0..187 Arguments:S255:Formatted Wait:I2:0..1 " +
		"Component_:s72:Identifier>Component",
	"ServiceInstall": "ServiceInstall*:s72:Identifier Name:s255:Formatted DisplayName:L255:Formatted ServiceType:i4:-2147483647..2147483647 " +
		"StartType:i4:0..4 ErrorControl:i4:-2147483647..2147483647 LoadOrderGroup:S255:Formatted Dependencies:S255:Formatted " +
		"StartName:S255:Formatted Password:S255:Formatted Arguments:S255:Formatted Component_:s72:Identifier>Component Description:L255:Text",
	"Signature": "Signature*:s72:Identifier FileName:s255:Text MinVersion:S20:Text MaxVersion:S20:Text MinSize:I4:0..2147483647 " +
		"MaxSize:I4:0..2147483647 MinDate:I4:0..2147483647 MaxDate:I4:0..2147483647 Languages:S255:Language",
	"Upgrade": "UpgradeCode*:s38:Guid VersionMin*:S20:Text VersionMax*:S20:Text Language*:S255:Language Attributes*:i4:0..2147483647 " +
		"Remove:S255:Formatted ActionProperty:s72:UpperCase",
	"_SummaryInformation": "PropertyId*:i2: Value:l255:",
	"_Validation": "Table*:s32:Identifier Column*:s32:Identifier Nullable:s4:=N;Y MinValue:I4:-2147483647..2147483647 " +
		"MaxValue:I4:-2147483647..2147483647 KeyTable:S255:Identifier KeyColumn:I2:1..32 Category:S32: Set:S255:Text Description:S255:Text",
}

type columnType struct {
	name, kind     string
	key            bool
	min, max       string // of a number; "": any
	of             string // the tables of which it is a key, with semicolons
	category, only string // of a text; all values that there are, with semicolons
}

func columnsOf(table string) (list []columnType) {
	for text := range strings.FieldsSeq(schema[table]) {
		parts := strings.SplitN(text, ":", 3)
		name, key := strings.CutSuffix(parts[0], "*")
		c := columnType{name: name, kind: parts[1], key: key}
		c.category, c.of, _ = strings.Cut(parts[2], ">")
		if low, high, isRange := strings.Cut(c.category, ".."); isRange {
			c.category, c.min, c.max = "", low, high
		}
		if only, isSet := strings.CutPrefix(c.category, "="); isSet {
			c.category, c.only = "", only
		}
		list = append(list, c)
	}
	return list
}

// validation adds the table by which tools for packagers check the others.
func (d *database) validation() {
	const own = "_Validation"
	var rows [][]string
	names := []string{own}
	for _, t := range d.tables {
		names = append(names, t.name)
	}
	slices.Sort(names)
	for _, name := range names {
		for _, c := range columnsOf(name) {
			nullable, keyColumn := "N", ""
			if strings.ToUpper(c.kind) == c.kind {
				nullable = "Y"
			}
			if c.of != "" {
				keyColumn = "1"
			}
			rows = append(rows, row(name, c.name, nullable, c.min, c.max, c.of, keyColumn, c.category, c.only, ""))
		}
	}
	d.add(own, rows...)
}
