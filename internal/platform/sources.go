package platform

import "log/slog"

// Options say which sources to read.
type Options struct {
	Audio       bool
	Camera      bool
	Files       []string            // endpoint files, see NewFile
	PulseServer string              // Linux: where the sound server listens; "" = as the environment says
	Getenv      func(string) string // the user's environment, which leads to the sound server; nil: nothing is set
}

func (o Options) env(name string) string {
	if o.Getenv == nil {
		return ""
	}
	return o.Getenv(name)
}

// Sources returns the sources that o asks for and this OS has. On an error none is left open.
func Sources(o Options, log *slog.Logger) ([]Source, error) {
	list, err := native(o, log)
	if err != nil {
		return nil, err
	}
	for _, path := range o.Files {
		src, err := NewFile(path, log)
		if err != nil {
			for _, s := range list {
				_ = s.Close()
			}
			return nil, err
		}
		list = append(list, src)
	}
	return list, nil
}
