package catalogue

import (
	"cmp"

	"sidetone/internal/hid"
)

// queryExchange checks what a query sends and how it reads the answer.
func (f *faults) queryExchange(path string, q HIDQuery) {
	if n := countTrue(len(q.Output) > 0, len(q.Feature) > 0, len(q.Input) > 0, len(q.LastOutput) > 0); n != 1 {
		f.add(path, "", "want exactly one of output, feature, input and last_output, found %d", n)
	}
	f.reportNumber(path+".input", q.Input)
	f.reportNumber(path+".last_output", q.LastOutput)
	f.byteTests(path+".retry_on", q.RetryOn)
	f.milliseconds(path+".delay_ms", q.DelayMS, 1, 5000)
	f.milliseconds(path+".poll_ms", q.PollMS, 1000, 60000)
	const unsolicited = "the answer to output comes by itself"
	switch {
	case len(q.Output) > 0 && q.DelayMS != 0:
		f.add(path+".delay_ms", "", unsolicited)
	case len(q.Output) > 0 && len(q.RetryOn) > 0:
		f.add(path+".retry_on", "", unsolicited)
	case len(q.RetryOn) > 0 && q.DelayMS == 0:
		f.add(path+".retry_on", "delay_ms", "it would be read again without a pause")
	case len(q.RetryOn) > 0 && q.DelayMS >= cmp.Or(q.TimeoutMS, 1000):
		f.add(path+".delay_ms", "less than timeout_ms", "timeout_ms would be over before the report is read again")
	}
	if q.PollMS != 0 && len(q.LastOutput) == 0 {
		f.add(path+".poll_ms", "ask_on", "only last_output is polled: the device itself can report its other states")
	}
}

// reportNumber checks the number of a report that is only read.
func (f *faults) reportNumber(path string, report hid.Bytes) {
	if len(report) > 1 {
		f.add(path, "its number alone, 00 where reports have none", "a report that is only read takes no data")
	}
}
