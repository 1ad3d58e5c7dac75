// Package wine tells Wine from Windows.
package wine
