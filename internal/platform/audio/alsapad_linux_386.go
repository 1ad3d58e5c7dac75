package audio

// ctlValuePad is the gap before ctlElemValue's values: none, i386 aligns a C long long to 4.
const ctlValuePad = 0
