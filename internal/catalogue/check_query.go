package catalogue

import (
	"cmp"
	"fmt"

	"sidetone/internal/hid"
)

// queryExchange checks what a query sends and how it reads the answer.
func (f *faults) queryExchange(path string, q HIDQuery) {
	if n := countTrue(len(q.Output) > 0, len(q.Feature) > 0, len(q.Input) > 0, len(q.LastOutput) > 0, len(q.Steps) > 0); n != 1 {
		f.add(path, "", "want exactly one of output, feature, input, last_output and steps, found %d", n)
	}
	f.reportNumber(path+".input", q.Input)
	f.reportNumber(path+".last_output", q.LastOutput)
	f.byteTests(path+".retry_on", q.RetryOn)
	f.milliseconds(path+".delay_ms", q.DelayMS, 1, 5000)
	f.poll(path, q.PollMS, len(q.LastOutput) > 0)
	const unsolicited = "the answer to output comes by itself"
	switch {
	case len(q.Steps) > 0:
		f.steps(path, q)
	case len(q.Output) > 0 && q.DelayMS != 0:
		f.add(path+".delay_ms", "steps with pause_ms", unsolicited)
	case len(q.Output) > 0 && len(q.RetryOn) > 0:
		f.add(path+".retry_on", "steps with retry_on", unsolicited)
	case len(q.RetryOn) > 0 && q.DelayMS == 0:
		f.add(path+".retry_on", "delay_ms", "it would be read again without a pause")
	case len(q.RetryOn) > 0 && q.DelayMS >= cmp.Or(q.TimeoutMS, 1000):
		f.add(path+".delay_ms", "less than timeout_ms", "timeout_ms would be over before the report is read again")
	}
}

// steps checks the requests of a query, each by itself, and that the last one brings an answer.
func (f *faults) steps(path string, q HIDQuery) {
	if len(q.Expect) > 0 || len(q.RetryOn) > 0 || q.DelayMS != 0 {
		f.add(path, "expect, retry_on and pause_ms of the step", "each step has its own")
	}
	for i, s := range q.Steps {
		at := fmt.Sprintf("%s.steps[%d]", path, i)
		f.step(at, s, cmp.Or(q.TimeoutMS, 1000))
		switch {
		case !s.sends() || len(s.Expect) > 0:
		case i == len(q.Steps)-1:
			f.add(at, "expect", "the last step brings no answer: any report of the device would count")
		case len(s.RetryOn) > 0:
			f.add(at+".retry_on", "expect", "no answer is waited for")
		}
	}
}

// step checks one request. timeout is how many milliseconds its answer may take.
func (f *faults) step(path string, s HIDStep, timeout int) {
	if n := countTrue(len(s.Output) > 0, len(s.SetFeature) > 0, len(s.ReadFeature) > 0, len(s.ReadInput) > 0); n != 1 {
		f.add(path, "", "want exactly one of output, set_feature, read_feature and read_input, found %d", n)
	}
	f.reportNumber(path+".read_feature", s.ReadFeature)
	f.reportNumber(path+".read_input", s.ReadInput)
	f.byteTests(path+".expect", s.Expect)
	f.byteTests(path+".retry_on", s.RetryOn)
	f.milliseconds(path+".pause_ms", s.PauseMS, 1, 5000)
	switch {
	case len(s.RetryOn) > 0 && s.PauseMS == 0:
		f.add(path+".retry_on", "pause_ms", "it would be asked again without a pause")
	case len(s.RetryOn) > 0 && s.PauseMS >= timeout:
		f.add(path+".pause_ms", "less than timeout_ms", "timeout_ms would be over before it is asked again")
	}
}

// hidUsageRead checks a control that is read on request, and that what is for such a control is not given for another.
func (f *faults) hidUsageRead(path string, r HIDUsage, u usage) {
	f.notEmpty(path+".on", r.On)
	f.notEmpty(path+".off", r.Off)
	f.milliseconds(path+".delay_ms", r.DelayMS, 1, 5000)
	f.poll(path, r.PollMS, r.Read == HIDReadOutput)
	f.milliseconds(path+".timeout_ms", r.TimeoutMS, 10, 10000)
	for _, text := range r.AskOnUsage {
		if !usageText.MatchString(text) {
			f.add(path+".ask_on_usage", `hex digits such as "2f", with the page in front of it if that is another one: "0b:2f"`, "not a usage")
		}
	}
	if r.Read == "" {
		if countTrue(r.On != nil, r.Off != nil, len(r.AskOnUsage) > 0, r.DelayMS != 0, r.PollMS != 0, r.TimeoutMS != 0) > 0 {
			f.add(path, "read: feature, input or output", "on, off, ask_on_usage, delay_ms, poll_ms and timeout_ms are for a state that is read")
		}
		return
	}
	f.mayWrite(path, u)
	if countTrue(r.On != nil, r.Off != nil) == 1 {
		f.add(path, "both, with the values of the field", "on and off go together")
	}
	if r.Kind != "" || r.Anchor != nil || r.DebounceMS != 0 {
		f.add(path, "leave out kind, anchor and debounce_ms", "what is read on request is a state")
	}
}

// poll checks how often a state is asked for. A lamp is asked for more often: it follows what the user does.
func (f *faults) poll(path string, ms int, lamp bool) {
	least := 2000
	if lamp {
		least = 1000
	}
	f.milliseconds(path+".poll_ms", ms, least, 60000)
}

// reportNumber checks the number of a report that is only read.
func (f *faults) reportNumber(path string, report hid.Bytes) {
	if len(report) > 1 {
		f.add(path, "its number alone, 00 where reports have none", "a report that is only read takes no data")
	}
}
