package devices

import (
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Whatever a snapshot says, another value of it makes another snapshot.
func TestEqualComparesEveryField(t *testing.T) {
	for path, change := range changes(reflect.TypeFor[Report](), "") {
		one, other := Snapshot{Devices: []Report{{}}}, Snapshot{Devices: []Report{{}}}
		change(reflect.ValueOf(&one.Devices[0]).Elem())
		require.False(t, one.Equal(other), path)
		require.False(t, other.Equal(one), path)
		change(reflect.ValueOf(&other.Devices[0]).Elem())
		require.True(t, one.Equal(other), path)
		require.True(t, SameWire(one.Wire(), other.Wire()), path)
	}
	for path, change := range changes(reflect.TypeFor[Device](), "") {
		one, other := make([]Device, 1), make([]Device, 1)
		change(reflect.ValueOf(&one[0]).Elem())
		require.False(t, SameWire(one, other), path)
	}
	require.False(t, Snapshot{}.Equal(Snapshot{Devices: []Report{{}}}))
	require.False(t, Snapshot{}.Equal(Snapshot{Withheld: []Withheld{{}}}))
	require.True(t, Snapshot{Generation: 1}.Equal(Snapshot{At: time.Unix(1, 0)}))
}

// changes give each part of a struct another value, by its path.
func changes(typ reflect.Type, path string) map[string]func(reflect.Value) {
	out := make(map[string]func(reflect.Value))
	for field := range typ.Fields() {
		if field.Type.Kind() == reflect.Struct && field.Type != reflect.TypeFor[time.Time]() {
			for name, change := range changes(field.Type, path+field.Name+".") {
				out[name] = func(v reflect.Value) { change(v.FieldByIndex(field.Index)) }
			}
			continue
		}
		out[path+field.Name] = func(v reflect.Value) { v.FieldByIndex(field.Index).Set(example(field.Type)) }
	}
	return out
}

// example is a value of the type that is not its zero.
func example(typ reflect.Type) reflect.Value {
	v := reflect.New(typ).Elem()
	switch typ.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Int:
		v.SetInt(1)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(typ.Elem()))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(typ, 1, 1))
	case reflect.Map:
		v.Set(reflect.MakeMap(typ))
		v.SetMapIndex(reflect.New(typ.Key()).Elem(), reflect.New(typ.Elem()).Elem())
	default:
		panic("no example of " + typ.String())
	}
	return v
}
