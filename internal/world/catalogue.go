package world

import (
	"encoding/json"
	"fmt"
	"strings"

	"sidetone/internal/catalogue"
	"sidetone/internal/devices"
)

// vendorCatalogue returns a version of the vendor's catalogue, or an error if the product's own check refuses it.
func vendorCatalogue(models []model, version int) (*catalogue.Catalogue, error) {
	var products []any
	for i := range models {
		products = append(products, models[i].product(i, models[i].entry(version)))
	}
	data, err := json.MarshalIndent(map[string]any{
		"schema":   catalogue.SchemaVersion,
		"vendor":   map[string]any{"id": "acme", "name": "Acme", "url": "https://acme.example", "client_id": "123456789012345678"},
		"products": products,
	}, "", " ")
	if err != nil {
		return nil, err
	}
	cat, problems := catalogue.Decode("world.json", data)
	if len(problems) > 0 {
		return nil, fmt.Errorf("the check refuses the catalogue: %v\n%s", problems, data)
	}
	return cat, nil
}

func (m *model) entry(version int) entry { return m.Versions[version%len(m.Versions)] }

func productID(model int) string { return fmt.Sprint("model-", model) }

// pid returns the USB product id of the model.
func pid(model int) string { return fmt.Sprintf("07%02x", model) }

const vid = "1209"

// product returns the model's entry in the catalogue.
func (m *model) product(i int, w entry) map[string]any {
	p := map[string]any{
		"id": productID(i), "name": m.name(i), "url": "https://acme.example/" + productID(i), "priority": i + 1,
		"links":     []any{map[string]any{"kind": m.Bus, "vid": vid, "pids": []string{pid(i)}}},
		"endpoints": []any{map[string]any{"type": devices.AudioInput}, map[string]any{"type": devices.AudioOutput}},
	}
	if !m.NamedIDs {
		p["id_scheme"] = map[string]any{"linux": devices.IDNative}
	}
	if m.Filtered {
		p["virtual_endpoints"] = []any{map[string]any{"type": devices.AudioInput, "name_regex": "Echo"}}
	}
	if m.Split {
		p["group_by"] = devices.GroupSerial
	}
	for key, rules := range map[string][]rule{"link_state": w.Link, "sources": w.Sources} {
		var list []object
		for _, r := range rules {
			list = append(list, r.Says)
			if says := text(r.Says); strings.Contains(says, `"hid_query"`) || strings.Contains(says, `"hidpp"`) {
				p["allow_write"] = true
			}
		}
		if list != nil {
			p[key] = list
		}
	}
	return p
}

func (m *model) name(i int) string { return fmt.Sprint("Acme ", i) }

// interfaces returns how many HID interfaces the model has.
func (m *model) interfaces() int {
	n := 0
	for _, t := range m.Channels {
		if t.Form != formALSA {
			n = max(n, t.Interface+1)
			if t.Twin {
				n = 2
			}
		}
	}
	return n
}
