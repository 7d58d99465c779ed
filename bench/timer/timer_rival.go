// SPDX-License-Identifier: MIT

// timer_rival: Go's time.AfterFunc as a rival of tkw_bench.
//
// A line on stdin asks for one sample, "KIND key=value ...". The answer on
// stdout is lines "figure NAME VALUE", then "done", "skip WHY" or "fail WHY".
// The runtime's timers have no worker to stop: a sample ends when all its
// timers are stopped or have fired.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	hour    = time.Hour
	tenDays = 240 * time.Hour
)

var (
	errCancel = errors.New("a cancel or a reset did not succeed")
	epoch     = time.Now()
)

// skip is an error that says that a kind does not apply.
type skip string

func (s skip) Error() string { return string(s) }

type sample struct {
	args    map[string]int
	figures strings.Builder
	fired   atomic.Int64
}

func (s *sample) arg(key string, preset int) int {
	if value, ok := s.args[key]; ok && value > 0 {
		return value
	}
	return preset
}

func (s *sample) figure(name string, value float64) {
	fmt.Fprintf(&s.figures, "figure %s %.3f\n", name, value)
}

func (s *sample) count() { s.fired.Add(1) }

func (s *sample) expectNone() error {
	if n := s.fired.Load(); n != 0 {
		return fmt.Errorf("%d fired too early", n)
	}
	return nil
}

// delay of the k-th schedule: never due while a sample lasts.
func delay(k int) time.Duration {
	return 20*time.Second + time.Duration(k&1023)*10*time.Millisecond
}

// later is the same in reschedule: each deadline is later than all before it.
func later(k int) time.Duration {
	return 31*time.Second + time.Duration(k)*10*time.Microsecond
}

func now() time.Duration { return time.Since(epoch) }

func cpu() time.Duration {
	var use syscall.Rusage

	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		panic(err)
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

type splitmix64 uint64

// below returns a number uniform below n, which is less than 2^32.
func (state *splitmix64) below(n uint64) uint64 {
	*state += 0x9e3779b97f4a7c15
	z := uint64(*state)
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	z ^= z >> 31
	return (z >> 32) * n >> 32
}

// settle waits until the runtime has run what was due before.
func settle() {
	fired := make(chan struct{})
	time.AfterFunc(1, func() { close(fired) })
	<-fired
}

// caller is one goroutine of a race: prepare is not timed, work is.
type caller interface {
	prepare()
	work() error
}

// lap is what one caller of a race tells.
type lap struct {
	begin, end time.Duration
	err        error
}

// span is the time from the first to begin to the last to end.
func span(laps []lap) time.Duration {
	begin, end := laps[0].begin, laps[0].end
	for _, l := range laps {
		if l.begin < begin {
			begin = l.begin
		}
		if l.end > end {
			end = l.end
		}
	}
	return end - begin
}

// race runs the callers together and reports figures per operation.
func (s *sample) race(callers []caller, ops int, withCPU bool) error {
	var ready, done sync.WaitGroup
	laps := make([]lap, len(callers))
	start := make(chan struct{})

	for i, c := range callers {
		ready.Add(1)
		done.Add(1)
		go func(c caller, l *lap) {
			defer done.Done()
			c.prepare()
			ready.Done()
			<-start
			begin := now()
			err := c.work()
			*l = lap{begin, now(), err}
		}(c, &laps[i])
	}
	ready.Wait()
	settle()
	runtime.GC()
	cpu0 := cpu()
	close(start)
	done.Wait()
	settle()
	used := cpu() - cpu0
	s.figure("ns", float64(span(laps))/float64(ops))
	if withCPU {
		s.figure("cpu_ns", float64(used)/float64(ops))
	}
	for _, l := range laps {
		if l.err != nil {
			return l.err
		}
	}
	return nil
}

func stopAll(timers []*time.Timer) {
	for _, t := range timers {
		if t != nil {
			t.Stop()
		}
	}
}

// scheduler makes a new timer per operation.
type scheduler struct {
	timers []*time.Timer
	fire   func()
}

func (c *scheduler) prepare() {}

func (c *scheduler) work() error {
	for k := range c.timers {
		c.timers[k] = time.AfterFunc(delay(k), c.fire)
	}
	return nil
}

func (s *sample) schedule() error {
	ops := s.arg("ops", 100000)
	callers := make([]caller, s.arg("threads", 1))
	for i := range callers {
		timers := make([]*time.Timer, ops)
		defer stopAll(timers)
		callers[i] = &scheduler{timers, s.count}
	}
	if err := s.race(callers, ops*len(callers), true); err != nil {
		return err
	}
	return s.expectNone()
}

// replacer keeps its timers pending and replaces one per operation.
type replacer struct {
	timers []*time.Timer
	fire   func()
	ops    int
}

func (c *replacer) prepare() {
	for i := range c.timers {
		c.timers[i] = time.AfterFunc(delay(i), c.fire)
	}
}

// replace sets the stopped timer anew. A new AfterFunc in its place is slower.
func (c *replacer) replace(i, k int) bool {
	ok := c.timers[i].Stop()
	c.timers[i].Reset(delay(k))
	return ok
}

// oldest replaces its timers in the order in which they were scheduled.
type oldest struct{ replacer }

func (c *oldest) work() error {
	i := 0
	for k := 0; k < c.ops; k++ {
		if !c.replace(i, k) {
			return errCancel
		}
		if i++; i == len(c.timers) {
			i = 0
		}
	}
	return nil
}

// anyone replaces its timers at random.
type anyone struct {
	replacer
	random splitmix64
}

func (c *anyone) work() error {
	n := uint64(len(c.timers))
	for k := 0; k < c.ops; k++ {
		if !c.replace(int(c.random.below(n)), k) {
			return errCancel
		}
	}
	return nil
}

// pusher pushes back a timer of its own, which stays pending.
type pusher struct {
	replacer
	random splitmix64
}

func (c *pusher) work() error {
	n := uint64(len(c.timers))
	for k := 0; k < c.ops; k++ {
		if !c.timers[c.random.below(n)].Reset(later(k)) {
			return errCancel
		}
	}
	return nil
}

// pair: no call takes a deadline, so that at=1 is the same.
func (s *sample) pair() error {
	ops, window := s.arg("ops", 100000), s.arg("window", 1000)
	callers := make([]caller, s.arg("threads", 1))
	for i := range callers {
		timers := make([]*time.Timer, window)
		defer stopAll(timers)
		callers[i] = &oldest{replacer{timers, s.count, ops}}
	}
	if err := s.race(callers, ops*len(callers), true); err != nil {
		return err
	}
	return s.expectNone()
}

func (s *sample) reschedule() error {
	ops, window := s.arg("ops", 100000), s.arg("window", 1000)
	callers := make([]caller, s.arg("threads", 1))
	for i := range callers {
		timers := make([]*time.Timer, window)
		defer stopAll(timers)
		callers[i] = &pusher{
			replacer{timers, s.count, ops}, splitmix64(i)}
	}
	if err := s.race(callers, ops*len(callers), true); err != nil {
		return err
	}
	return s.expectNone()
}

func (s *sample) churn() error {
	ops, n := s.arg("ops", 100000), s.arg("n", 100000)
	callers := make([]caller, s.arg("threads", 1))
	each := n / len(callers)
	if each == 0 {
		each = 1
	}
	for i := range callers {
		timers := make([]*time.Timer, each)
		defer stopAll(timers)
		callers[i] = &anyone{
			replacer{timers, s.count, ops}, splitmix64(i)}
	}
	if err := s.race(callers, ops*len(callers), false); err != nil {
		return err
	}
	return s.expectNone()
}

const (
	ringSize = 4096
	// Spins after which the other side may need this processor.
	patience = 256
)

// ring hands timers from one goroutine to one other. Each index has cache
// lines of its own.
type ring struct {
	slots [ringSize]*time.Timer
	_     [128]byte
	head  atomic.Int64
	_     [120]byte
	tail  atomic.Int64
	_     [120]byte
}

// await spins until index differs from old, and returns what it is then.
func await(index *atomic.Int64, old int64) int64 {
	for spins := 1; ; spins++ {
		if value := index.Load(); value != old {
			return value
		}
		if spins%patience == 0 {
			runtime.Gosched()
		}
	}
}

type producer struct {
	*ring
	fire func()
	ops  int64
}

func (c *producer) prepare() {}

func (c *producer) work() error {
	tail := int64(0)
	for k := int64(0); k < c.ops; k++ {
		t := time.AfterFunc(delay(int(k)), c.fire)
		if k-tail == ringSize {
			tail = await(&c.tail, tail)
		}
		c.slots[k%ringSize] = t
		c.head.Store(k + 1)
	}
	return nil
}

type consumer struct {
	*ring
	ops int64
}

func (c *consumer) prepare() {}

func (c *consumer) work() error {
	var err error
	head := int64(0)
	for k := int64(0); k < c.ops; k++ {
		if k == head {
			head = await(&c.head, head)
		}
		if !c.slots[k%ringSize].Stop() {
			err = errCancel
		}
		c.tail.Store(k + 1)
	}
	return err
}

func (s *sample) crossCancel() error {
	ops := s.arg("ops", 100000)
	r := new(ring)
	callers := []caller{&producer{r, s.count, int64(ops)},
		&consumer{r, int64(ops)}}
	if err := s.race(callers, ops, false); err != nil {
		return err
	}
	return s.expectNone()
}

// fires counts in many places: callbacks run on all processors at once.
type fires [64]struct {
	atomic.Int64
	_ [120]byte
}

func (f *fires) sum() int64 {
	n := int64(0)
	for i := range f {
		n += f[i].Load()
	}
	return n
}

// awaitRest returns when nothing has fired for longer than any delay.
func (f *fires) awaitRest() {
	for before := int64(-1); before != f.sum(); {
		before = f.sum()
		time.Sleep(200 * time.Millisecond)
	}
}

// One timer in so many looks whether it is early.
const watchedEach = 1024

// firing is a timer that sets itself again until over.
type firing struct {
	timer  *time.Timer
	random splitmix64
	count  *atomic.Int64
	over   *atomic.Bool
	spread uint64 // from the shortest delay to the longest, in us
	watch  *watch // of few; nil: not watched
}

// watch knows when its timer is due.
type watch struct {
	due   time.Duration
	early atomic.Bool
}

func (f *firing) delay() time.Duration {
	return time.Millisecond +
		time.Duration(f.random.below(f.spread))*time.Microsecond
}

// restOfDelay is what is left of the delay of a timer that was set some time
// ago. With this, the rate of the fires is the same from the start.
func (f *firing) restOfDelay() time.Duration {
	d, other := f.delay(), f.delay()
	if other < d {
		return other
	}
	return d
}

func (f *firing) set(d time.Duration) {
	if f.watch != nil {
		f.watch.due = now() + d
	}
	f.timer.Reset(d)
}

func (f *firing) fire() {
	f.count.Add(1)
	if f.watch != nil && now() < f.watch.due {
		f.watch.early.Store(true)
	}
	if !f.over.Load() {
		f.set(f.delay())
	}
}

func stopFirings(all []firing) {
	for i := range all {
		all[i].timer.Stop()
	}
}

func anyEarly(all []firing) bool {
	for i := 0; i < len(all); i += watchedEach {
		if all[i].watch.early.Load() {
			return true
		}
	}
	return false
}

func (s *sample) fire() error {
	var count fires
	var over atomic.Bool
	all := make([]firing, s.arg("n", 100000))
	spread := uint64(s.arg("longest_ms", 100)-1) * 1000
	// Nothing is due before all are set, and before the field that its
	// callback reads is set.
	begin := now() + 100*time.Millisecond +
		time.Duration(len(all))*time.Microsecond
	for i := range all {
		f := &all[i]
		f.random, f.over, f.spread = splitmix64(i), &over, spread
		f.count = &count[i%len(count)].Int64
		d := f.restOfDelay()
		if i%watchedEach == 0 {
			f.watch = &watch{due: begin + d}
		}
		left := begin - now()
		if left < 10*time.Millisecond {
			stopFirings(all[:i])
			return skip("too slow to have all set before the first is due")
		}
		f.timer = time.AfterFunc(left+d, f.fire)
	}
	time.Sleep(begin - now() + 500*time.Millisecond)
	// The count is read first and last, so that a wait for a processor
	// between two readings is not held against Go.
	fires0, wall0, cpu0 := count.sum(), now(), cpu()
	time.Sleep(time.Duration(s.arg("ms", 2000)) * time.Millisecond)
	used, wall := cpu()-cpu0, now()-wall0
	n := float64(count.sum() - fires0)
	over.Store(true)
	stopFirings(all)
	count.awaitRest()
	if n == 0 {
		return errors.New("nothing fired")
	}
	if anyEarly(all) {
		return errors.New("a timeout fired early")
	}
	s.figure("ns", float64(wall)/n)
	s.figure("cpu_ns", float64(used)/n)
	return nil
}

// micros is the nearest-rank quantile, in microseconds.
func micros(sorted []time.Duration, quantile float64) float64 {
	rank := int(math.Ceil(quantile * float64(len(sorted))))
	if rank < 1 {
		rank = 1
	}
	return float64(sorted[rank-1]) / 1e3
}

func sortDurations(d []time.Duration) {
	sort.Slice(d, func(i, j int) bool { return d[i] < d[j] })
}

func (s *sample) lateness() error {
	n := s.arg("n", 1000)
	late := make([]time.Duration, n)
	fired := make([]atomic.Int32, n)
	// The rivals in C and Java draw the same delays.
	random := splitmix64(1)
	var pending sync.WaitGroup
	pending.Add(n)
	for i := range late {
		d := time.Millisecond + time.Duration(random.below(999000001))
		result, times := &late[i], &fired[i]
		deadline := now() + d
		time.AfterFunc(d, func() {
			lateness := now() - deadline
			if times.Add(1) == 1 {
				*result = lateness
				pending.Done()
			}
		})
	}
	pending.Wait()
	for i := range fired {
		if fired[i].Load() != 1 {
			return errors.New("a timeout fired more than once")
		}
	}
	sortDurations(late)
	s.lateFigures(late)
	return nil
}

func (s *sample) lateFigures(sorted []time.Duration) {
	s.figure("p10", micros(sorted, 0.1))
	s.figure("p25", micros(sorted, 0.25))
	s.figure("p50", micros(sorted, 0.5))
	s.figure("p75", micros(sorted, 0.75))
	s.figure("p90", micros(sorted, 0.9))
	s.figure("p99", micros(sorted, 0.99))
	s.figure("p99_9", micros(sorted, 0.999))
	s.figure("max", micros(sorted, 1))
	early := sort.Search(len(sorted),
		func(i int) bool { return sorted[i] >= 0 })
	s.figure("early", float64(early))
}

// switches sums the voluntary context switches of all threads.
func switches() (int, error) {
	const field = "\nvoluntary_ctxt_switches:"
	sum := 0
	files, err := filepath.Glob("/proc/self/task/*/status")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return 0, err
		}
		_, rest, _ := strings.Cut(string(text), field)
		value, _, _ := strings.Cut(rest, "\n")
		n, err := strconv.Atoi(strings.TrimSpace(value))
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, err
}

// rest tells what the process costs while n timers are far away.
func (s *sample) rest(n int, d time.Duration) error {
	timers := make([]*time.Timer, n)
	defer stopAll(timers)
	for i := range timers {
		timers[i] = time.AfterFunc(d, s.count)
	}
	settle()
	time.Sleep(500 * time.Millisecond)
	cpu0 := cpu()
	wakeups0, err := switches()
	if err != nil {
		return err
	}
	time.Sleep(time.Duration(s.arg("ms", 10000)) * time.Millisecond)
	wakeups, err := switches()
	used := cpu() - cpu0
	if err != nil {
		return err
	}
	s.figure("wakeups", float64(wakeups-wakeups0))
	s.figure("cpu_ms", float64(used)/1e6)
	return s.expectNone()
}

// herd tells when the first and the last of n callbacks ran.
type herd struct {
	n     int64
	fired atomic.Int64
	first atomic.Int64
	last  atomic.Int64
}

func (h *herd) fire() {
	if h.first.Load() == 0 {
		h.first.CompareAndSwap(0, int64(now()))
	}
	if h.fired.Add(1) == h.n {
		h.last.Store(int64(now()))
	}
}

type probe struct{ begin, end time.Duration }

// watch schedules, cancels and pauses until the last of the herd has fired.
func (h *herd) watch() []probe {
	probes := make([]probe, 0, 1<<21)
	idle := func() {}
	for h.last.Load() == 0 {
		begin := now()
		t := time.AfterFunc(hour, idle)
		end := now()
		probes = append(probes, probe{begin, end})
		t.Stop()
		for now()-end < 10*time.Microsecond {
		}
	}
	return probes
}

// durations of the probes that overlap the herd's fires, sorted.
func (h *herd) durations(probes []probe) []time.Duration {
	first, last := time.Duration(h.first.Load()),
		time.Duration(h.last.Load())
	var kept []time.Duration
	for _, p := range probes {
		if p.end > first && p.begin < last {
			kept = append(kept, p.end-p.begin)
		}
	}
	sortDurations(kept)
	return kept
}

// run returns false when the deadline came before all were scheduled.
func (h *herd) run(lead time.Duration) ([]time.Duration, bool) {
	timers := make([]*time.Timer, h.n)
	deadline := now() + lead
	for i := range timers {
		timers[i] = time.AfterFunc(deadline-now(), h.fire)
	}
	settle()
	watchFrom := deadline - 20*time.Millisecond
	if now() > watchFrom {
		stopAll(timers)
		return nil, false
	}
	time.Sleep(watchFrom - now())
	return h.durations(h.watch()), true
}

// All callbacks that are due may exist as goroutines before the first runs.
const kbPerFire = 3

// availableKB is the memory that may be used without swapping.
func availableKB() (int64, error) {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(text), "MemAvailable:")
	value, _, _ := strings.Cut(rest, "kB")
	return strconv.ParseInt(strings.TrimSpace(value), 10, 64)
}

func (s *sample) herd() error {
	n := int64(s.arg("n", 100000))
	available, err := availableKB()
	if err != nil {
		return err
	}
	if n*kbPerFire > available {
		return skip("a goroutine for each would not fit in memory")
	}
	// Gives back what so many goroutines took.
	defer debug.FreeOSMemory()
	lead := time.Second + time.Duration(n)*300
	var why skip
	for attempt := 0; attempt < 5; attempt++ {
		h := &herd{n: n}
		durations, inTime := h.run(lead)
		if !inTime {
			why = "too slow to have all in before the deadline"
			lead *= 2
			continue
		}
		if len(durations) != 0 {
			s.herdFigures(h, durations)
			return nil
		}
		// The watching goroutine had to wait for its turn until all
		// had fired, and no call of its own was to blame.
		why = "no schedule was seen while the herd fired"
	}
	return why
}

func (s *sample) herdFigures(h *herd, durations []time.Duration) {
	s.figure("p99", micros(durations, 0.99))
	s.figure("max", micros(durations, 1))
	s.figure("drain_ms", float64(h.last.Load()-h.first.Load())/1e6)
	s.figure("probes", float64(len(durations)))
}

func heapInUse() float64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC()
	debug.FreeOSMemory()
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapInuse)
}

func (s *sample) memory() error {
	n := s.arg("n", 100000)
	empty := heapInUse()
	timers := make([]*time.Timer, n)
	before := heapInUse()
	for i := range timers {
		timers[i] = time.AfterFunc(tenDays, s.count)
	}
	full := heapInUse()
	if err := s.expectNone(); err != nil {
		return err
	}
	for i, t := range timers {
		if !t.Stop() {
			return errCancel
		}
		timers[i] = nil
	}
	// The runtime takes out stopped timers when it looks for work.
	for i := 0; i < 20; i++ {
		time.Sleep(10 * time.Millisecond)
	}
	after := heapInUse()
	s.figure("bytes", (full-before)/float64(len(timers)))
	s.figure("after_kb", (after-before)/1024)
	s.figure("empty_kb", empty/1024)
	return nil
}

// inNewProcess takes a sample of the whole process. This one has kept what
// earlier samples left: descriptors of all their goroutines, room for their
// timers, and memory that the runtime gives back little by little.
func (s *sample) inNewProcess(kind string) error {
	request := kind + " here=1"
	for key, value := range s.args {
		request += fmt.Sprintf(" %s=%d", key, value)
	}
	// It dies with the thread that has started it, which must last.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	child := exec.Command("/proc/self/exe", "go")
	child.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	child.Stdin = strings.NewReader(request + "\n")
	out, err := child.Output()
	if err != nil {
		return err
	}
	return s.passOn(string(out))
}

// passOn makes the answer of another process this one's.
func (s *sample) passOn(answer string) error {
	if strings.HasSuffix(answer, "done\n") {
		s.figures.WriteString(strings.TrimSuffix(answer, "done\n"))
		return nil
	}
	word, why, _ := strings.Cut(strings.TrimSpace(answer), " ")
	if word == "skip" {
		return skip(why)
	}
	return errors.New(why)
}

func (s *sample) take(kind string) error {
	switch kind {
	case "idle", "far", "memory":
		if s.arg("here", 0) == 0 {
			return s.inNewProcess(kind)
		}
	}
	return s.takeHere(kind)
}

func (s *sample) takeHere(kind string) error {
	runtime.GC()
	switch kind {
	case "schedule":
		return s.schedule()
	case "pair":
		return s.pair()
	case "reschedule":
		return s.reschedule()
	case "churn":
		return s.churn()
	case "cross_cancel":
		return s.crossCancel()
	case "fire":
		return s.fire()
	case "lateness":
		return s.lateness()
	case "idle":
		return s.rest(1, hour)
	case "far":
		return s.rest(s.arg("n", 100000), tenDays)
	case "herd":
		return s.herd()
	case "create", "unused":
		return skip("its timers are the runtime's, and not made")
	case "memory":
		return s.memory()
	case "stop":
		return skip("has no stop that returns what is pending")
	}
	return errors.New("no kind " + kind)
}

func parse(words []string) (map[string]int, error) {
	args := make(map[string]int)
	for _, word := range words {
		key, text, _ := strings.Cut(word, "=")
		value, err := strconv.Atoi(text)
		if err != nil {
			return nil, errors.New("cannot read " + word)
		}
		args[key] = value
	}
	return args, nil
}

func answer(line string) string {
	words := strings.Fields(line)
	if len(words) == 0 {
		return "fail an empty line\n"
	}
	args, err := parse(words[1:])
	s := &sample{args: args}
	if err == nil {
		err = s.take(words[0])
	}
	var why skip
	switch {
	case err == nil:
		return s.figures.String() + "done\n"
	case errors.As(err, &why):
		return "skip " + err.Error() + "\n"
	}
	return "fail " + err.Error() + "\n"
}

func main() {
	if len(os.Args) != 2 || os.Args[1] != "go" {
		fmt.Fprintln(os.Stderr, "usage: tkw_bench_go go")
		os.Exit(2)
	}
	// Collect between samples, not within one: fastest for Go.
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(8 << 30)
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		fmt.Print(answer(in.Text()))
	}
}
