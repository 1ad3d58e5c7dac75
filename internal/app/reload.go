package app

import (
	"os"
	"reflect"
	"strconv"

	"sidetone/internal/engine"
	"sidetone/internal/health"
)

// Reload puts a new configuration into force, or says what is wrong with it and keeps the old one.
func (a *App) Reload() error {
	a.reloading.Lock()
	defer a.reloading.Unlock()
	started := a.opts.Settings
	set, err := a.opts.Load()
	if err == nil {
		err = set.needCatalogue()
	}
	if err == nil {
		err = started.Identity.CheckUnchanged(set.Identity)
	}
	var resolving engine.Settings
	if err == nil {
		resolving, err = set.Engine()
	}
	if err != nil {
		a.log.Error("the old configuration stays in force", "reason", err)
		args := health.Args{"agent": strconv.Itoa(os.Getpid())}
		a.refused.Store(&health.Wrap(err, health.ReloadRefused, health.Warning, args).Condition)
		a.announce()
		return err
	}
	if a.refused.Swap(nil) != nil {
		defer a.announce() // this condition is over, even if nothing else changes
	}
	a.settings.Store(set)
	a.resolver.Store(resolving.Resolver)
	a.engine.Configure(resolving)
	if a.hid != nil {
		a.hid.Want(resolving.Resolver.HID)
	}
	a.kick() // what sources read of an endpoint is up to the catalogue
	a.report.configure(set.rpc(a.opts.Host, a.log))
	now, before := set.Config, *started.Config
	if set.Policy(logLevel) != "" {
		a.opts.LogLevel.Set(now.Log.Level.Slog())
		before.Log.Level = now.Log.Level
	}
	if !reflect.DeepEqual(now.Sources, before.Sources) || now.Log != before.Log || now.Control != before.Control {
		a.log.Warn("changed settings under sources, log and control come into force with the next start")
	}
	a.log.Info("configuration read again", "products", len(set.Catalogue.Products))
	return nil
}
