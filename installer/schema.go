package main

import _ "embed" // for the schema

//go:generate go test -run TestSchemaIsCurrent -update .

// brandSchema is the JSON Schema of brand.yaml, for editors. LoadBrand checks more than it can express.
//
//go:embed brand.schema.json
var brandSchema []byte
