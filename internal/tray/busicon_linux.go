package tray

import (
	"bytes"
	"fmt"
	"image/color"
	"image/png"
	"os"

	"github.com/godbus/dbus/v5"

	"sidetone/internal/platform/desktop"
)

const (
	iconPath      = "/StatusNotifierItem"
	iconInterface = "org.kde.StatusNotifierItem"
)

// busIcon is a tray icon with its menu on the bus, as org.kde.StatusNotifierItem defines it.
type busIcon struct {
	bus   *dbus.Conn
	props *busProps
	menu  *busMenu
	last  frame
}

// pixmap is a picture in that interface: four bytes for each pixel, alpha first.
type pixmap struct {
	Width, Height int32
	Points        []byte
}

type busTooltip struct {
	Icon        string
	Pictures    []pixmap
	Title, Text string
}

// exportIcon puts an icon on the bus. Nobody shows it before register.
func exportIcon(bus *dbus.Conn, title string, f frame, chosen func(action)) (*busIcon, error) {
	menu, err := exportMenu(bus, f.items, chosen)
	if err != nil {
		return nil, err
	}
	props, err := exportProps(bus, iconPath, iconInterface, map[string]any{
		"Category": "ApplicationStatus", "Id": title, "Title": title, "Status": "Active", "IconName": "", "IconThemePath": "",
		"IconPixmap": []pixmap{picture(f.icon)}, "ToolTip": busTooltip{Title: f.tooltip}, "ItemIsMenu": true, "Menu": dbus.ObjectPath(menuPath),
	})
	if err != nil {
		return nil, err
	}
	_, err = bus.RequestName(fmt.Sprintf("%s-%d-1", iconInterface, os.Getpid()), dbus.NameFlagDoNotQueue)
	return &busIcon{bus, props, menu, f}, err
}

// register asks the desktop's panel, if there is one, to show the icon.
func (i *busIcon) register() {
	panel := i.bus.Object(desktop.TrayHost, "/StatusNotifierWatcher")
	panel.Go(desktop.TrayHost+".RegisterStatusNotifierItem", dbus.FlagNoReplyExpected, nil, iconPath)
}

// draw sends what has changed and nothing else, so that an open menu stays as it is.
func (i *busIcon) draw(next frame) {
	if string(next.icon) != string(i.last.icon) {
		i.set("IconPixmap", []pixmap{picture(next.icon)}, "NewIcon")
	}
	if next.tooltip != i.last.tooltip {
		i.set("ToolTip", busTooltip{Title: next.tooltip}, "NewToolTip")
	}
	i.menu.draw(next.items)
	i.last = next
}

// set changes a property and sends the signal that says so. Sending fails only if the bus has gone, which serve notices.
func (i *busIcon) set(name string, value any, signal string) {
	i.props.set(name, value)
	_ = i.bus.Emit(iconPath, iconInterface+"."+signal)
}

// picture decodes a PNG file for a panel.
func picture(file []byte) pixmap {
	decoded, err := png.Decode(bytes.NewReader(file))
	if err != nil {
		panic(err) // the build is broken, which every test shows
	}
	b := decoded.Bounds()
	p := pixmap{Width: int32(b.Dx()), Height: int32(b.Dy())}
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			c := color.NRGBAModel.Convert(decoded.At(x, y)).(color.NRGBA)
			p.Points = append(p.Points, c.A, c.R, c.G, c.B)
		}
	}
	return p
}
