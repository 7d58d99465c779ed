// SPDX-License-Identifier: MIT
/*
 * TimerRival.java - Netty's HashedWheelTimer and the JDK's
 * ScheduledThreadPoolExecutor as rivals of tkw_bench.
 *
 * A line on stdin asks for one sample, "KIND key=value ...". The answer on
 * stdout is lines "figure NAME VALUE", then "done", "skip WHY" or "fail WHY".
 * Each sample has a timer of its own, stopped before the answer ends.
 *
 * Timed loops are methods of their own that do a chunk of the work: compiled
 * code is entered at the next chunk, not patched into a running loop.
 */
import io.netty.util.HashedWheelTimer;
import io.netty.util.Timeout;
import io.netty.util.TimerTask;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

final class Fail extends RuntimeException {
	private static final long serialVersionUID = 1;

	Fail(String why)
	{
		super(why);
	}
}

final class Skip extends RuntimeException {
	private static final long serialVersionUID = 1;

	Skip(String why)
	{
		super(why);
	}
}

/** What one timeout runs, whichever timer it is given to. */
abstract class Task implements Runnable, TimerTask {
	@Override
	public final void run(Timeout timeout)
	{
		run();
	}
}

/** For timeouts of which none, or each, is to fire. One worker runs it. */
final class CountingTask extends Task {
	final AtomicLong fired = new AtomicLong();

	@Override
	public void run()
	{
		fired.lazySet(fired.get() + 1);
	}

	void expectNone()
	{
		if (fired.get() != 0)
			throw new Fail(fired.get() + " fired too early");
	}
}

final class Sentinel extends Task {
	final CountDownLatch fired = new CountDownLatch(1);

	@Override
	public void run()
	{
		fired.countDown();
	}
}

/** A running timer with one worker thread. */
abstract class Rival {
	static final String WORKER = "tkw-worker";
	static final long SETTLE_SECONDS = 120;

	Thread worker;

	static Rival create(String name)
	{
		return switch (name) {
		case "netty_1ms" -> new Netty(1_000_000);
		case "netty_100ms" -> new Netty(100_000_000);
		case "stpe" -> new Stpe();
		default -> throw new Fail("no rival " + name);
		};
	}

	/** Makes one that is not started, and returns what ends it. */
	static Runnable createUnused(String name)
	{
		return switch (name) {
		case "netty_1ms" -> Netty.createUnused(1_000_000);
		case "netty_100ms" -> Netty.createUnused(100_000_000);
		case "stpe" -> Stpe.createUnused();
		default -> throw new Fail("no rival " + name);
		};
	}

	abstract Object schedule(Task task, long delayNs);

	abstract boolean cancel(Object handle);

	/** False for a handle that was returned but refused all the same. */
	abstract boolean accepted(Object handle);

	/** How long the worker takes, at its limit, to take in n timeouts. */
	abstract long intakeNs(long n);

	/** Stops, joins the worker, and returns how many were handed back. */
	abstract int stop();

	final Thread newWorker(Runnable work)
	{
		worker = new Thread(work, WORKER);
		return worker;
	}

	/** Waits until all that was scheduled before has been taken in. */
	final void settle() throws InterruptedException
	{
		Sentinel last = new Sentinel();

		schedule(last, 1);
		if (!last.fired.await(SETTLE_SECONDS, TimeUnit.SECONDS))
			throw new Fail("the worker did not keep up");
	}
}

final class Netty extends Rival {
	private static final int DEFAULT_SLOTS = 512;
	/* The most that its worker takes from its queue in one tick. */
	private static final long PER_TICK = 100_000;

	private final HashedWheelTimer timer;
	private final long tickNs;

	Netty(long tickNs)
	{
		this.tickNs = tickNs;
		timer = new HashedWheelTimer(this::newWorker, tickNs,
			TimeUnit.NANOSECONDS, DEFAULT_SLOTS, false);
		/* Else the first newTimeout() would wait for the worker. */
		timer.start();
	}

	static Runnable createUnused(long tickNs)
	{
		HashedWheelTimer timer = new HashedWheelTimer(Thread::new,
			tickNs, TimeUnit.NANOSECONDS, DEFAULT_SLOTS, false);

		return timer::stop;
	}

	@Override
	Object schedule(Task task, long delayNs)
	{
		return timer.newTimeout(task, delayNs, TimeUnit.NANOSECONDS);
	}

	@Override
	boolean cancel(Object handle)
	{
		return ((Timeout) handle).cancel();
	}

	@Override
	boolean accepted(Object handle)
	{
		return true;
	}

	@Override
	long intakeNs(long n)
	{
		return n / PER_TICK * tickNs;
	}

	@Override
	int stop()
	{
		return timer.stop().size();
	}
}

final class Stpe extends Rival {
	private final ScheduledThreadPoolExecutor executor;

	Stpe()
	{
		executor = new ScheduledThreadPoolExecutor(1, this::newWorker);
		executor.setRemoveOnCancelPolicy(true);
		executor.setExecuteExistingDelayedTasksAfterShutdownPolicy(
			false);
		executor.prestartCoreThread();
	}

	static Runnable createUnused()
	{
		return new ScheduledThreadPoolExecutor(1)::shutdownNow;
	}

	@Override
	Object schedule(Task task, long delayNs)
	{
		return executor.schedule(task, delayNs, TimeUnit.NANOSECONDS);
	}

	@Override
	boolean cancel(Object handle)
	{
		return ((Future<?>) handle).cancel(false);
	}

	/* One that comes in during the shutdown is returned cancelled. */
	@Override
	boolean accepted(Object handle)
	{
		return !((Future<?>) handle).isCancelled();
	}

	@Override
	long intakeNs(long n)
	{
		return 0;
	}

	@Override
	int stop()
	{
		int pending = executor.shutdownNow().size();

		try {
			worker.join();
		} catch (InterruptedException e) {
			throw new IllegalStateException(e);
		}
		return pending;
	}
}

final class SplitMix64 {
	private long state;

	SplitMix64(long seed)
	{
		state = seed;
	}

	/** Uniform below range, which is less than 2^31. */
	long below(long range)
	{
		long z = state += 0x9e3779b97f4a7c15L;

		z = (z ^ (z >>> 30)) * 0xbf58476d1ce4e5b9L;
		z = (z ^ (z >>> 27)) * 0x94d049bb133111ebL;
		z ^= z >>> 31;
		return ((z >>> 32) * range) >>> 32;
	}
}

/** What the callers of one sample begin with. */
final class Start {
	private static final int SPINS = 1000;

	final CyclicBarrier ready;
	private final CyclicBarrier settled;
	private final AtomicInteger arrived = new AtomicInteger();
	private final int callers;
	private volatile boolean gone;
	long workerNs;

	Start(int callers)
	{
		this.callers = callers;
		ready = new CyclicBarrier(callers + 1);
		settled = new CyclicBarrier(callers + 1);
	}

	/** A caller waits, awake: to be woken takes one longer than another. */
	void awaitGo() throws Exception
	{
		ready.await();
		settled.await();
		arrived.incrementAndGet();
		for (int i = 0; !gone; i++) {
			if (i < SPINS)
				Thread.onSpinWait();
			else
				Thread.yield();
		}
	}

	/** When the timer has settled. */
	void go(Rival rival) throws Exception
	{
		settled.await();
		while (arrived.get() < callers)
			LockSupport.parkNanos(100_000);
		workerNs = Cpu.of(rival.worker);
		gone = true;
	}
}

final class Cpu {
	private static final ThreadMXBean THREADS =
		ManagementFactory.getThreadMXBean();

	private Cpu()
	{
	}

	static long own()
	{
		return THREADS.getCurrentThreadCpuTime();
	}

	static long of(Thread thread)
	{
		return THREADS.getThreadCpuTime(thread.getId());
	}
}

/** A thread that does ops operations, timed with its fellows. */
abstract class Caller extends Thread {
	private static final long CHUNK = 10_000;

	final Rival rival;
	final Task task;
	final long ops;
	Start start;
	long failed;
	long beginNs;
	long endNs;
	long cpuNs;

	Caller(Rival rival, Task task, long ops)
	{
		this.rival = rival;
		this.task = task;
		this.ops = ops;
	}

	/** DELAY of the k-th schedule: never due while a sample lasts. */
	static long delay(long k)
	{
		return 20_000_000_000L + (k & 1023) * 10_000_000L;
	}

	/** The same in reschedule: each deadline is later than all before. */
	static long later(long k)
	{
		return 31_000_000_000L + k * 10_000L;
	}

	/** Done by the thread itself: its memory is then apart from others'. */
	void prepare()
	{
	}

	abstract void chunk(long from, long to);

	@Override
	public void run()
	{
		prepare();
		try {
			start.awaitGo();
		} catch (Exception e) {
			throw new IllegalStateException(e);
		}
		cpuNs = -Cpu.own();
		beginNs = System.nanoTime();
		for (long k = 0; k < ops; k += CHUNK)
			chunk(k, Math.min(k + CHUNK, ops));
		endNs = System.nanoTime();
		cpuNs += Cpu.own();
	}
}

final class Scheduler extends Caller {
	private Object[] handles;

	Scheduler(Rival rival, Task task, int ops)
	{
		super(rival, task, ops);
	}

	@Override
	void prepare()
	{
		handles = new Object[(int) ops];
	}

	@Override
	void chunk(long from, long to)
	{
		for (int k = (int) from; k < (int) to; k++)
			handles[k] = rival.schedule(task, delay(k));
	}
}

/** Keeps `pending` timeouts and replaces one of them per operation. */
abstract class Replacer extends Caller {
	private final int pending;
	Object[] handles;

	Replacer(Rival rival, Task task, int pending, long ops)
	{
		super(rival, task, ops);
		this.pending = pending;
	}

	@Override
	void prepare()
	{
		handles = new Object[pending];
		for (int i = 0; i < handles.length; i++)
			handles[i] = rival.schedule(task, delay(i));
	}

	final void replace(int i, long delayNs)
	{
		if (!rival.cancel(handles[i]))
			failed++;
		handles[i] = rival.schedule(task, delayNs);
	}
}

final class OldestReplacer extends Replacer {
	private int oldest;

	OldestReplacer(Rival rival, Task task, int window, long ops)
	{
		super(rival, task, window, ops);
	}

	@Override
	void chunk(long from, long to)
	{
		int i = oldest;

		for (long k = from; k < to; k++) {
			replace(i, delay(k));
			if (++i == handles.length)
				i = 0;
		}
		oldest = i;
	}
}

final class RandomReplacer extends Replacer {
	private final SplitMix64 random;

	RandomReplacer(Rival rival, Task task, int pending, long ops, int seed)
	{
		super(rival, task, pending, ops);
		random = new SplitMix64(seed);
	}

	@Override
	void chunk(long from, long to)
	{
		for (long k = from; k < to; k++)
			replace((int) random.below(handles.length), delay(k));
	}
}

/** Pushes back. There is no call for it, so a new one takes its place. */
final class LaterReplacer extends Replacer {
	private final SplitMix64 random;

	LaterReplacer(Rival rival, Task task, int window, long ops, int seed)
	{
		super(rival, task, window, ops);
		random = new SplitMix64(seed);
	}

	@Override
	void chunk(long from, long to)
	{
		for (long k = from; k < to; k++)
			replace((int) random.below(handles.length), later(k));
	}
}

/** Hands handles from one thread to one other. */
final class Ring {
	private static final int SIZE = 4096;
	private static final int HEAD = 16;
	private static final int TAIL = 48;
	private static final VarHandle INDEX =
		MethodHandles.arrayElementVarHandle(long[].class);

	private final Object[] slots = new Object[SIZE];
	/* HEAD and TAIL lie on cache lines of their own. */
	private final long[] indices = new long[64];

	/** The producer's index: what it stores is read by head(). */
	void publish(long head)
	{
		INDEX.setRelease(indices, HEAD, head);
	}

	long head()
	{
		return (long) INDEX.getAcquire(indices, HEAD);
	}

	/** The consumer's index: what it has taken may be overwritten. */
	void release(long tail)
	{
		INDEX.setRelease(indices, TAIL, tail);
	}

	long tail()
	{
		return (long) INDEX.getAcquire(indices, TAIL);
	}

	boolean full(long head, long tail)
	{
		return head - tail == SIZE;
	}

	void set(long index, Object handle)
	{
		slots[(int) index & (SIZE - 1)] = handle;
	}

	Object get(long index)
	{
		return slots[(int) index & (SIZE - 1)];
	}
}

final class Producer extends Caller {
	private final Ring ring;
	private long tail;

	Producer(Rival rival, Task task, long ops, Ring ring)
	{
		super(rival, task, ops);
		this.ring = ring;
	}

	@Override
	void chunk(long from, long to)
	{
		for (long k = from; k < to; k++) {
			Object handle = rival.schedule(task, delay(k));

			while (ring.full(k, tail)) {
				Thread.onSpinWait();
				tail = ring.tail();
			}
			ring.set(k, handle);
			ring.publish(k + 1);
		}
	}
}

final class Consumer extends Caller {
	private final Ring ring;
	private long head;

	Consumer(Rival rival, Task task, long ops, Ring ring)
	{
		super(rival, task, ops);
		this.ring = ring;
	}

	@Override
	void chunk(long from, long to)
	{
		for (long k = from; k < to; k++) {
			while (head == k) {
				Thread.onSpinWait();
				head = ring.head();
			}
			if (!rival.cancel(ring.get(k)))
				failed++;
			ring.release(k + 1);
		}
	}
}

/** Schedules itself again, for ever. Shared by all but those watched. */
final class FiringTask extends Task {
	final AtomicLong fires = new AtomicLong();
	volatile boolean early;
	private final SplitMix64 random = new SplitMix64(1);
	private final Rival rival;
	private final long spreadUs;

	FiringTask(Rival rival, int longestMs)
	{
		this.rival = rival;
		spreadUs = (longestMs - 1) * 1000L;
	}

	long delay()
	{
		return 1_000_000 + random.below(spreadUs) * 1000;
	}

	/** What is left of a delay some time later: the lesser of two. With
	 * this, the rate of the fires is the same from the start. */
	long restOfDelay()
	{
		return Math.min(delay(), delay());
	}

	@Override
	public void run()
	{
		again(this, delay());
	}

	void again(Task task, long delayNs)
	{
		fires.lazySet(fires.get() + 1);
		try {
			rival.schedule(task, delayNs);
		} catch (IllegalStateException | RejectedExecutionException e) {
			return; /* the sample is over */
		}
	}
}

/** One of those that fire and looks whether it is early. */
final class WatchedTask extends Task {
	static final int EACH = 1024;

	private final FiringTask all;
	long dueNs;

	WatchedTask(FiringTask all)
	{
		this.all = all;
	}

	@Override
	public void run()
	{
		long delayNs = all.delay();
		long nowNs = System.nanoTime();

		if (nowNs - dueNs < 0)
			all.early = true;
		dueNs = nowNs + delayNs;
		all.again(this, delayNs);
	}
}

/** Stores how late it was. */
final class LateTask extends Task {
	private final long[] lateness;
	private final int index;
	private final CountDownLatch pending;
	long deadlineNs;
	int fired;

	LateTask(long[] lateness, int index, CountDownLatch pending)
	{
		this.lateness = lateness;
		this.index = index;
		this.pending = pending;
	}

	@Override
	public void run()
	{
		lateness[index] = System.nanoTime() - deadlineNs;
		fired++;
		pending.countDown();
	}
}

/** Shared by all of a herd; tells when the first and the last fired. */
final class HerdTask extends Task {
	private final long size;
	private long fired;
	volatile long firstNs;
	volatile long lastNs;

	HerdTask(long size)
	{
		this.size = size;
	}

	@Override
	public void run()
	{
		if (fired == 0)
			firstNs = System.nanoTime();
		if (++fired == size)
			lastNs = System.nanoTime();
	}
}

/** Another thread's view of a herd: how long does a schedule take? */
final class Probe extends Thread {
	private static final long LEAD_NS = 20_000_000;
	private static final long PAUSE_NS = 10_000;
	private static final long PATIENCE_NS = 120_000_000_000L;
	private static final int MOST = 1 << 21;

	private final long[] beginNs = new long[MOST];
	private final long[] endNs = new long[MOST];
	private final Rival rival;
	private final Task idle = new CountingTask();
	private final HerdTask herd;
	private final long deadlineNs;
	private int count;

	Probe(Rival rival, HerdTask herd, long deadlineNs)
	{
		this.rival = rival;
		this.herd = herd;
		this.deadlineNs = deadlineNs;
	}

	@Override
	public void run()
	{
		long waitNs;

		while ((waitNs = deadlineNs - LEAD_NS - System.nanoTime()) > 0)
			LockSupport.parkNanos(waitNs);
		while (herd.lastNs == 0
			&& System.nanoTime() - deadlineNs < PATIENCE_NS)
			once();
	}

	void once()
	{
		long begin = System.nanoTime();
		Object handle = rival.schedule(idle, Sample.HOUR_NS);
		long end = System.nanoTime();

		if (count < MOST) {
			beginNs[count] = begin;
			endNs[count++] = end;
		}
		rival.cancel(handle);
		while (System.nanoTime() - end < PAUSE_NS)
			Thread.onSpinWait();
	}

	/** The sorted durations of those that overlap the herd's fires. */
	long[] durations()
	{
		long[] kept = new long[count];
		int n = 0;

		for (int i = 0; i < count; i++) {
			if (endNs[i] - herd.firstNs > 0
				&& beginNs[i] - herd.lastNs < 0)
				kept[n++] = endNs[i] - beginNs[i];
		}
		kept = Arrays.copyOf(kept, n);
		Arrays.sort(kept);
		return kept;
	}
}

/** Schedules until the timer refuses. */
final class Flood extends Thread {
	private final Rival rival;
	private final Task task;
	long accepted;

	Flood(Rival rival, Task task)
	{
		this.rival = rival;
		this.task = task;
	}

	@Override
	public void run()
	{
		try {
			while (rival.accepted(
				rival.schedule(task, Sample.HOUR_NS)))
				accepted++;
		} catch (IllegalStateException | RejectedExecutionException e) {
			return; /* refused: the end that was waited for */
		}
	}
}

/** Voluntary context switches of the worker, as the kernel counts them. */
final class Switches {
	private static final String FIELD = "voluntary_ctxt_switches:";

	private Switches()
	{
	}

	static Path workerDirectory() throws IOException
	{
		Path tasks = Path.of("/proc/self/task");

		try (DirectoryStream<Path> all =
			     Files.newDirectoryStream(tasks)) {
			for (Path task : all) {
				if (isWorker(task))
					return task;
			}
		}
		throw new Fail("the worker's thread was not found");
	}

	private static boolean isWorker(Path task)
	{
		try {
			String comm = Files.readString(task.resolve("comm"));

			return comm.strip().equals(Rival.WORKER);
		} catch (IOException e) {
			return false; /* a thread that has just ended */
		}
	}

	static long of(Path task) throws IOException
	{
		for (String line : Files.readAllLines(task.resolve("status"))) {
			if (line.startsWith(FIELD))
				return Long.parseLong(line
					.substring(FIELD.length()).strip());
		}
		throw new Fail("no count of context switches");
	}
}

/** How a herd went, and why there are no figures of it. */
enum Herd {
	SEEN(""),
	LATE("too slow to have all taken in before the deadline"),
	/** The probing thread was not let run between two probes. */
	UNSEEN("no schedule was seen while the herd fired");

	final String why;

	Herd(String why)
	{
		this.why = why;
	}
}

/** One request: its arguments, its timer, and its figures. */
final class Sample {
	private static final int HERD_TRIES = 5;
	private static final long HERD_PATIENCE_NS = 150_000_000_000L;
	static final long HOUR_NS = 3_600_000_000_000L;
	private static final long TEN_DAYS_NS = 240 * HOUR_NS;

	private final Map<String, Long> args;
	private final String rivalName;
	private final StringBuilder figures = new StringBuilder();
	private Rival rival;

	Sample(String rivalName, Map<String, Long> args)
	{
		this.rivalName = rivalName;
		this.args = args;
	}

	String take(String kind) throws Exception
	{
		/* Before the timer is made: what a full collection finds alive
		 * it makes old, and then each store to it costs more. */
		System.gc();
		rival = Rival.create(rivalName);
		try {
			dispatch(kind);
		} finally {
			rival.stop();
		}
		return figures.toString();
	}

	private void dispatch(String kind) throws Exception
	{
		switch (kind) {
		case "schedule" -> schedule();
		case "pair" -> pair();
		case "reschedule" -> reschedule();
		case "churn" -> churn();
		case "cross_cancel" -> crossCancel();
		case "fire" -> fire();
		case "lateness" -> lateness();
		case "idle" -> rest(1, HOUR_NS);
		case "far" -> rest(intArg("n", 100_000), TEN_DAYS_NS);
		case "herd" -> herd();
		case "create" -> create();
		case "unused" -> unused();
		case "memory" -> memory();
		case "stop" -> stop();
		default -> throw new Fail("no kind " + kind);
		}
	}

	private int intArg(String key, int preset)
	{
		long value = args.getOrDefault(key, (long) preset);

		if (value < 1 || value > Integer.MAX_VALUE - 8)
			throw new Fail(key + " is out of range");
		return (int) value;
	}

	private void figure(String name, double value)
	{
		figures.append(String.format(Locale.ROOT, "figure %s %.3f\n",
			name, value));
	}

	private void schedule() throws Exception
	{
		CountingTask task = new CountingTask();
		Caller[] callers = new Caller[intArg("threads", 1)];
		int ops = intArg("ops", 100_000);

		for (int i = 0; i < callers.length; i++)
			callers[i] = new Scheduler(rival, task, ops);
		race(callers, (long) ops * callers.length, true);
		task.expectNone();
	}

	/* No call takes a deadline: at=1 is the same. */
	private void pair() throws Exception
	{
		CountingTask task = new CountingTask();
		Caller[] callers = new Caller[intArg("threads", 1)];
		int window = intArg("window", 1000);
		int ops = intArg("ops", 100_000);

		for (int i = 0; i < callers.length; i++)
			callers[i] = new OldestReplacer(rival, task, window,
				ops);
		race(callers, (long) ops * callers.length, true);
		task.expectNone();
	}

	private void reschedule() throws Exception
	{
		CountingTask task = new CountingTask();
		Caller[] callers = new Caller[intArg("threads", 1)];
		int window = intArg("window", 1000);
		int ops = intArg("ops", 100_000);

		for (int i = 0; i < callers.length; i++)
			callers[i] = new LaterReplacer(rival, task, window, ops,
				i);
		race(callers, (long) ops * callers.length, true);
		task.expectNone();
	}

	private void churn() throws Exception
	{
		CountingTask task = new CountingTask();
		Caller[] callers = new Caller[intArg("threads", 1)];
		int each = Math.max(intArg("n", 100_000) / callers.length, 1);
		int ops = intArg("ops", 100_000);

		for (int i = 0; i < callers.length; i++)
			callers[i] = new RandomReplacer(rival, task, each, ops,
				i);
		race(callers, (long) ops * callers.length, false);
		task.expectNone();
	}

	private void crossCancel() throws Exception
	{
		CountingTask task = new CountingTask();
		int ops = intArg("ops", 100_000);
		Ring ring = new Ring();

		race(new Caller[] {new Producer(rival, task, ops, ring),
			     new Consumer(rival, task, ops, ring)},
			ops, false);
		task.expectNone();
	}

	private void race(Caller[] callers, long ops, boolean withCpu)
		throws Exception
	{
		Start start = new Start(callers.length);

		for (Caller caller : callers) {
			caller.start = start;
			caller.start();
		}
		start.ready.await();
		rival.settle();
		start.go(rival);
		for (Caller caller : callers)
			caller.join();
		rival.settle();
		report(callers, start.workerNs, ops, withCpu);
	}

	private void report(Caller[] callers, long workerNs, long ops,
		boolean withCpu)
	{
		long cpuNs = Cpu.of(rival.worker) - workerNs;
		long beginNs = callers[0].beginNs;
		long endNs = callers[0].endNs;

		for (Caller caller : callers) {
			if (caller.failed != 0)
				throw new Fail("a cancel did not succeed");
			cpuNs += caller.cpuNs;
			beginNs = Math.min(beginNs, caller.beginNs);
			endNs = Math.max(endNs, caller.endNs);
		}
		figure("ns", (double) (endNs - beginNs) / ops);
		if (withCpu)
			figure("cpu_ns", (double) cpuNs / ops);
	}

	private void fire() throws Exception
	{
		FiringTask task = new FiringTask(rival,
			intArg("longest_ms", 100));
		int n = intArg("n", 100_000);
		long[] delays = new long[n];

		/* The task's random numbers belong to the worker later. */
		for (int i = 0; i < n; i++)
			delays[i] = task.restOfDelay();
		for (int i = 0; i < n; i++) {
			if (i % WatchedTask.EACH == 0)
				watched(task, delays[i]);
			else
				rival.schedule(task, delays[i]);
		}
		rival.settle();
		Thread.sleep(500);
		long cpuNs = -Cpu.of(rival.worker);
		long fires = -task.fires.get();
		long wallNs = -System.nanoTime();
		Thread.sleep(intArg("ms", 2000));
		fires += task.fires.get();
		wallNs += System.nanoTime();
		cpuNs += Cpu.of(rival.worker);
		if (fires == 0)
			throw new Fail("nothing fired");
		if (task.early)
			throw new Fail("a timeout fired early");
		figure("ns", (double) wallNs / fires);
		figure("cpu_ns", (double) cpuNs / fires);
	}

	private void watched(FiringTask all, long delayNs)
	{
		WatchedTask task = new WatchedTask(all);

		task.dueNs = System.nanoTime() + delayNs;
		rival.schedule(task, delayNs);
	}

	private void lateness() throws Exception
	{
		int n = intArg("n", 1000);
		long[] lateness = new long[n];
		CountDownLatch pending = new CountDownLatch(n);
		/* The rivals in C and Go draw the same delays. */
		SplitMix64 random = new SplitMix64(1);
		int span = intArg("span_ns", 999_000_001);
		LateTask[] tasks = new LateTask[n];

		for (int i = 0; i < n; i++)
			tasks[i] = new LateTask(lateness, i, pending);
		for (int i = 0; i < n; i++) {
			long delay = 1_000_000 + random.below(span);

			tasks[i].deadlineNs = System.nanoTime() + delay;
			rival.schedule(tasks[i], delay);
		}
		if (!pending.await(60, TimeUnit.SECONDS))
			throw new Fail(pending.getCount() + " did not fire");
		for (LateTask task : tasks) {
			if (task.fired != 1)
				throw new Fail("one fired more than once");
		}
		Arrays.sort(lateness);
		lateFigures(lateness);
	}

	private void lateFigures(long[] sorted)
	{
		figure("p10", micros(sorted, 0.1));
		figure("p25", micros(sorted, 0.25));
		figure("p50", micros(sorted, 0.5));
		figure("p75", micros(sorted, 0.75));
		figure("p90", micros(sorted, 0.9));
		figure("p99", micros(sorted, 0.99));
		figure("p99_9", micros(sorted, 0.999));
		figure("max", micros(sorted, 1));
		figure("early",
			Arrays.stream(sorted).filter(late -> late < 0).count());
	}

	/** The nearest-rank quantile, in microseconds. */
	private static double micros(long[] sortedNs, double quantile)
	{
		int rank = (int) Math.ceil(quantile * sortedNs.length);

		return sortedNs[Math.max(rank, 1) - 1] / 1e3;
	}

	/** What the worker costs while n timeouts are far away. */
	private void rest(int n, long delayNs) throws Exception
	{
		CountingTask task = new CountingTask();
		int ms = intArg("ms", 10_000);

		for (int i = 0; i < n; i++)
			rival.schedule(task, delayNs);
		rival.settle();
		Thread.sleep(500);
		Path worker = Switches.workerDirectory();
		long wakeups = -Switches.of(worker);
		long cpuNs = -Cpu.of(rival.worker);
		Thread.sleep(ms);
		wakeups += Switches.of(worker);
		cpuNs += Cpu.of(rival.worker);
		task.expectNone();
		figure("wakeups", wakeups);
		figure("cpu_ms", cpuNs / 1e6);
	}

	private void herd() throws Exception
	{
		int n = intArg("n", 100_000);
		long leadNs = 1_000_000_000L + n * 300L + rival.intakeNs(n);
		long beginNs = System.nanoTime();

		for (int tries = 1;; tries++) {
			Herd end = herd(n, leadNs);

			if (end == Herd.SEEN)
				return;
			if (end == Herd.LATE)
				leadNs *= 2;
			if (tries == HERD_TRIES || System.nanoTime() - beginNs
				+ leadNs > HERD_PATIENCE_NS)
				throw new Skip(end.why);
			rival.stop();
			System.gc();
			rival = Rival.create(rivalName);
		}
	}

	private Herd herd(int n, long leadNs) throws Exception
	{
		HerdTask task = new HerdTask(n);
		long deadlineNs = System.nanoTime() + leadNs;
		Probe probe = new Probe(rival, task, deadlineNs);

		for (int i = 0; i < n; i++)
			rival.schedule(task, deadlineNs - System.nanoTime());
		rival.settle();
		if (System.nanoTime() - deadlineNs > -50_000_000)
			return Herd.LATE;
		probe.start();
		probe.join();
		if (task.lastNs == 0)
			throw new Fail("not all fired");
		long[] durations = probe.durations();
		if (durations.length == 0)
			return Herd.UNSEEN;
		herdFigures(task, durations);
		return Herd.SEEN;
	}

	private void herdFigures(HerdTask task, long[] durations)
	{
		figure("p99", micros(durations, 0.99));
		figure("max", micros(durations, 1));
		figure("drain_ms", (task.lastNs - task.firstNs) / 1e6);
		figure("probes", durations.length);
	}

	private void create()
	{
		int ops = intArg("ops", 100_000);
		long beginNs = System.nanoTime();
		long cpuNs = Cpu.own();

		for (int i = 0; i < ops; i++)
			Rival.createUnused(rivalName).run();
		figure("cpu_ns", (double) (Cpu.own() - cpuNs) / ops);
		figure("ns", (double) (System.nanoTime() - beginNs) / ops);
	}

	private void unused()
	{
		Runnable[] ends = new Runnable[intArg("n", 10)];
		long before;

		/* What is loaded with the first one is not its own. */
		Rival.createUnused(rivalName).run();
		usedHeap();
		before = usedHeap();
		for (int i = 0; i < ends.length; i++)
			ends[i] = Rival.createUnused(rivalName);
		figure("bytes", (double) (usedHeap() - before) / ends.length);
		for (Runnable end : ends)
			end.run();
	}

	private void memory() throws Exception
	{
		CountingTask task = new CountingTask();
		int n = intArg("n", 100_000);

		rival.settle();
		long empty = usedHeap();
		Object[] handles = new Object[n];
		long before = usedHeap();
		for (int i = 0; i < n; i++)
			handles[i] = rival.schedule(task, TEN_DAYS_NS);
		rival.settle();
		long full = usedHeap();
		task.expectNone();
		for (int i = 0; i < n; i++) {
			if (!rival.cancel(handles[i]))
				throw new Fail("a cancel did not succeed");
			handles[i] = null;
		}
		/* Netty takes out what was cancelled at a later tick. */
		for (int tick = 0; tick < 3; tick++)
			rival.settle();
		long after = usedHeap();
		figure("bytes", (double) (full - before) / handles.length);
		figure("after_kb", (after - before) / 1024.0);
		figure("empty_kb", empty / 1024.0);
	}

	private static long usedHeap()
	{
		Runtime runtime = Runtime.getRuntime();

		System.gc();
		System.gc();
		return runtime.totalMemory() - runtime.freeMemory();
	}

	private void stop() throws Exception
	{
		int threads = intArg("threads", 2);
		int rounds = intArg("rounds", 10);
		long accepted = 0;
		long kept = 0;

		for (int round = 0; round < rounds; round++) {
			CountingTask task = new CountingTask();
			Flood[] floods = new Flood[threads];

			if (round > 0)
				rival = Rival.create(rivalName);
			for (int i = 0; i < threads; i++) {
				floods[i] = new Flood(rival, task);
				floods[i].start();
			}
			Thread.sleep(2);
			kept += rival.stop();
			for (Flood flood : floods) {
				flood.join();
				accepted += flood.accepted;
			}
			kept += task.fired.get();
		}
		figure("accepted", accepted);
		figure("lost", accepted - kept);
	}

	/** Lets the compiler see what will be timed. */
	static void warmUp(String rivalName) throws Exception
	{
		long endNs = System.nanoTime() + 3_000_000_000L;
		Map<String, Long> two = Map.of("threads", 2L);
		String[] kinds = {"pair", "schedule", "churn", "cross_cancel",
			"reschedule"};

		for (int i = 0; i < kinds.length
			|| System.nanoTime() - endNs < 0; i++)
			new Sample(rivalName, two).take(
				kinds[i % kinds.length]);
		warmUpFires(rivalName);
		Rival rival = Rival.create(rivalName);
		Probe probe = new Probe(rival, null, 0);
		for (int i = 0; i < 20_000; i++)
			probe.once();
		rival.stop();
	}

	private static void warmUpFires(String rivalName) throws Exception
	{
		new Sample(rivalName,
			Map.of("n", 1000L, "span_ns", 49_000_000L))
			.take("lateness");
		try {
			new Sample(rivalName, Map.of("n", 20_000L))
				.take("herd");
		} catch (Skip e) {
			return; /* all fired unseen, but they fired */
		}
	}
}

public final class TimerRival {
	private static boolean warm;

	private TimerRival()
	{
	}

	public static void main(String[] argv) throws Exception
	{
		BufferedReader in =
			new BufferedReader(new InputStreamReader(System.in));
		String line;

		if (argv.length != 1) {
			System.err.println("usage: TimerRival NAME");
			System.exit(2);
		}
		/* A caller that dies would leave the others at a barrier. */
		Thread.setDefaultUncaughtExceptionHandler((thread, e) -> {
			e.printStackTrace();
			Runtime.getRuntime().halt(1);
		});
		while ((line = in.readLine()) != null) {
			System.out.print(answer(argv[0], line));
			System.out.flush();
		}
	}

	private static String answer(String rival, String line)
		throws Exception
	{
		String[] words = line.strip().split("\\s+");

		try {
			if (!warm) {
				Sample.warmUp(rival);
				warm = true;
			}
			return new Sample(rival, parse(words)).take(words[0])
				+ "done\n";
		} catch (Skip e) {
			return "skip " + e.getMessage() + "\n";
		} catch (Fail e) {
			return "fail " + e.getMessage() + "\n";
		}
	}

	private static Map<String, Long> parse(String[] words)
	{
		Map<String, Long> args = new HashMap<>();

		for (int i = 1; i < words.length; i++) {
			String[] pair = words[i].split("=", 2);

			try {
				args.put(pair[0], Long.parseLong(pair[1]));
			} catch (RuntimeException e) {
				throw new Fail("cannot read " + words[i]);
			}
		}
		return args;
	}
}
