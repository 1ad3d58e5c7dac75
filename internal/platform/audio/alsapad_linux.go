//go:build !386

package audio

// ctlValuePad is the gap before ctlElemValue's values: a C long long in the union beside them
// is aligned to 8 bytes.
const ctlValuePad = 4
