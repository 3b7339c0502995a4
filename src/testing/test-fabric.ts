import { FlowFabricError } from "../contract/errors.ts";
import { refuseUnknownOptions } from "../contract/option-names.ts";
import { DUE_QUEUE } from "../kernel/placement.ts";
import { WORKER_PREFIX } from "../kernel/records/worker.ts";
import { FlowFabric, type TypedWorker } from "../library/flowfabric.ts";
import type { AnyKinds, Kinds } from "../library/kinds.ts";
import { type OpenOptions, openBackend } from "../library/open.ts";
import type { QueuePosition, Store } from "../store/port.ts";
import type { WorkerOptions } from "../worker/worker-options.ts";
import { type CallName, FaultyCalls } from "./faulty-calls.ts";
import { VirtualClock } from "./virtual-clock.ts";

/** What a test begins with. */
export interface TestOptions extends Pick<OpenOptions, "partitions" | "retentionMs" | "publicUrl" | "onFault"> {
	/** What time it is when the test begins, in unix milliseconds (1700000000000, in November 2023). */
	now?: number;
}

const OPTIONS: readonly (keyof TestOptions)[] = ["partitions", "retentionMs", "publicUrl", "onFault", "now"];

/** A year: what has not come by then does not wait for time to pass. */
const MOST_MS = 366 * 86_400_000;

/**
 * FlowFabric for tests of programs that use it: the real engine with all its rules on `memory:`, in time that passes only
 * when the test says so. It goes wherever a `FlowFabric` goes. Nothing in it sleeps: a day passes in milliseconds.
 */
export class TestFabric<K extends Kinds<K> = AnyKinds> extends FlowFabric<K> {
	readonly #clock: VirtualClock;
	readonly #wire: FaultyCalls;
	readonly #workers: TypedWorker<K>[] = [];

	/** Made by `openTest`. */
	constructor(wire: FaultyCalls, clock: VirtualClock) {
		super(wire.backend);
		this.#wire = wire;
		this.#clock = clock;
	}

	/** Handlers that run now, of all workers made here. */
	get running(): number {
		return this.#workers.reduce((sum, { running }) => sum + running, 0);
	}

	/** The time now, in unix milliseconds, for everything: the store, the engine and the workers made here. */
	get now(): number {
		return this.#clock.now();
	}

	/** A worker in the test's time. It leaves signals of the process alone. */
	override worker(options: WorkerOptions = {}): TypedWorker<K> {
		const worker = super.worker({ clock: this.#clock, handleSignals: false, ...options });
		this.#workers.push(worker);
		return worker;
	}

	/** Waits until everything that can go on without time passing has gone on. */
	settle(): Promise<void> {
		return this.#clock.settle();
	}

	/**
	 * Lets so many milliseconds pass. Work that is due meanwhile (delays, retries, sleeps, deadlines) is due at its time and in
	 * its order. While no handler runs, time goes straight from one such moment to the next; heartbeats wait until then.
	 */
	async advance(ms: number): Promise<void> {
		if (!Number.isFinite(ms) || ms < 0) throw invalid("ms", `must be a number of milliseconds from 0, got ${ms}`);
		await this.#clock.advance(ms);
	}

	/**
	 * Lets time pass until a promise is settled, and gives what it comes to: `await ff.fastForward(run.result())` waits
	 * through retries and sleeps. Whatever has not settled after `withinMs` (366 days) throws `wait_timeout`.
	 */
	async fastForward<T>(
		promise: Promise<T>,
		{
			withinMs = MOST_MS,
		}: {
			/** Milliseconds that may pass (366 days). */
			withinMs?: number;
		} = {},
	): Promise<T> {
		let settled = false;
		const note = () => {
			settled = true;
		};
		promise.then(note, note);
		if (await this.#clock.advanceWhile(withinMs, () => !settled)) {
			if (!settled)
				throw new FlowFabricError("wait_timeout", {
					message: `nothing had come of the promise when ${withinMs} ms had passed`,
				});
		}
		return promise;
	}

	/**
	 * Lets every lease end under its holder, as if the workers' machines stood still: nothing is renewed, and time passes
	 * until the last lease is over. Their handlers are aborted with `lease_lost`, and the work is claimed again.
	 */
	async expireLeases(): Promise<void> {
		await this.settle();
		this.#wire.holdRenewals();
		try {
			await this.advance(Math.max(0, this.#wire.lastLeaseEnd - this.now));
		} finally {
			this.#wire.passRenewals();
			await this.settle();
		}
	}

	/** The next such call is lost before it arrives: nothing is done, and its caller gets `unreachable`. */
	loseRequest(call: CallName): void {
		this.#wire.plan(call, "request lost");
	}

	/** The next such call is done, but its reply is lost: its caller gets `unreachable` and cannot know. */
	loseReply(call: CallName): void {
		this.#wire.plan(call, "reply lost");
	}

	/** The next such call arrives twice. Its caller gets the reply to the first. */
	deliverTwice(call: CallName): void {
		this.#wire.plan(call, "sent twice");
	}

	/** Stops the workers made here, whatever their handlers wait for, and lets go of everything. */
	override async close(): Promise<void> {
		await this.fastForward(super.close());
	}
}

/** Opens an empty FlowFabric for one test; close it when the test is over. */
export async function openTest<K extends Kinds<K> = AnyKinds>(options: TestOptions = {}): Promise<TestFabric<K>> {
	refuseUnknownOptions("openTest", options, OPTIONS);
	const { now, ...others } = options;
	if (now !== undefined && !(Number.isInteger(now) && now >= 0))
		throw invalid("now", `must be an integer number of unix milliseconds, got ${String(now)}`);
	const clock = new VirtualClock(now);
	const backend = await openBackend("memory:", { ...others, testClock: { now: clock.now, clock } });
	clock.watch(() => !backend.engine.idle);
	const ff = new TestFabric<K>(new FaultyCalls(backend), clock);
	// A handler may wait for any timer, and its lease has to be renewed.
	clock.skipRoutine(async () => (ff.running > 0 ? 0 : nextDue(backend.engine.store)));
	return ff;
}

/** When the next work is due. That a worker is taken for dead is not: its heartbeats are only late. */
async function nextDue(store: Store): Promise<number> {
	const nexts = Array.from({ length: store.partitions }, async (_, partition) => {
		let after: QueuePosition | undefined;
		for (;;) {
			const { entries } = await store.first(partition, DUE_QUEUE, 100, after);
			const found = entries.find(({ key }) => !key.startsWith(WORKER_PREFIX));
			after = entries.at(-1);
			if (found || !after) return found?.score ?? Number.POSITIVE_INFINITY;
		}
	});
	return (await Promise.all(nexts)).reduce((first, next) => Math.min(first, next));
}

const invalid = (field: string, problem: string): FlowFabricError =>
	new FlowFabricError("invalid_input", { message: `${field}: ${problem}`, details: { field } });
