import { performance } from "node:perf_hooks";
import { median } from "../limits/sqlite-writes.ts";
import { payload, type Target } from "../target.ts";

/** Who may run what: what classes, keys, lanes and work nobody can serve cost those who are served. */

const KINDS = Array.from({ length: 20 }, (_, n) => `kind-${n}`);
const SETS = Array.from({ length: 10 }, (_, n) => (n === 0 ? [] : [`cap-${n}`, "common"]));
const SUBMITTERS = 64;
const CONCURRENCY = 16;

type Fabric = Pick<Target, "ff">;

/** Kinds of work and sets of capabilities it requires: every pair is a class. */
export interface Classes {
	kinds: readonly string[];
	sets: readonly string[][];
}

export const MANY_CLASSES: Classes = { kinds: KINDS, sets: SETS };
export const ONE_CLASS: Classes = { kinds: ["noop"], sets: [[]] };

/** Lifecycles per second of work of so many classes, all of which one worker serves. */
export async function classLifecycles({ ff }: Fabric, count: number, classes: Classes): Promise<number> {
	const { worker, finished } = workerFor(ff, count, classes);
	const startedAt = performance.now();
	await worker.start();
	let submitted = 0;
	const submitter = async () => {
		while (submitted < count) {
			const { kind, input, ...options } = itemOf(submitted++, classes);
			await ff.submit(kind, input, options);
		}
	};
	await Promise.all(Array.from({ length: SUBMITTERS }, submitter));
	await finished;
	await worker.stop();
	return count / ((performance.now() - startedAt) / 1000);
}

/** Claims per second of work that waits, each with its completion: nothing is submitted meanwhile. */
export async function classClaims({ ff }: Fabric, count: number, classes: Classes): Promise<number> {
	for (let from = 0; from < count; from += 1000) {
		await ff.submitMany(Array.from({ length: Math.min(1000, count - from) }, (_, n) => itemOf(from + n, classes)));
	}
	const { worker, finished } = workerFor(ff, count, classes);
	const startedAt = performance.now();
	await worker.start();
	await finished;
	await worker.stop();
	return count / ((performance.now() - startedAt) / 1000);
}

function itemOf(n: number, { kinds, sets }: Classes) {
	const required = sets[Math.floor(n / kinds.length) % sets.length] ?? [];
	return {
		kind: kinds[n % kinds.length] as string,
		input: payload(n),
		...(required.length > 0 ? { requiredCapabilities: [...required] } : undefined),
	};
}

/** A worker for all of them, and when it has handled so many. */
function workerFor(ff: Fabric["ff"], count: number, { kinds, sets }: Classes) {
	let done = 0;
	let finish = () => {};
	const finished = new Promise<void>((resolve) => (finish = resolve));
	const capabilities = [...new Set(sets.flat())];
	const worker = ff.worker({ concurrency: CONCURRENCY, capabilities, handleSignals: false });
	for (const kind of kinds)
		worker.handle(kind, async () => {
			if (++done === count) finish();
			return { ok: true };
		});
	return { worker, finished };
}

/** Submit → the handler starts, one after the other: milliseconds, the median. */
async function dispatchTimes(
	{ ff }: Fabric,
	count: number,
	submit: (n: number) => Promise<unknown>,
	concurrency = CONCURRENCY,
): Promise<number> {
	let started: (n: number) => void = () => {};
	const worker = ff.worker({ concurrency, handleSignals: false });
	worker.handle("ping", async (_context, { n }: { n: number }) => started(n));
	worker.handle("backlog", async () => {});
	await worker.start();
	const times: number[] = [];
	for (let n = 0; n < count; n++) {
		const begun = new Promise<void>((resolve) => {
			started = (which) => which === n && resolve();
		});
		const startedAt = performance.now();
		await Promise.all([submit(n), begun]);
		times.push(performance.now() - startedAt);
	}
	await worker.stop({ graceMs: 0 });
	return median(times);
}

export const emptyLane = (target: Fabric, count: number): Promise<number> =>
	dispatchTimes(target, count, (n) => target.ff.submit("ping", payload(n)));

async function fill({ ff }: Fabric, count: number, item: object): Promise<void> {
	for (let from = 0; from < count; from += 1000) {
		const items = Array.from({ length: Math.min(1000, count - from) }, (_, n) => ({
			kind: "backlog",
			input: n,
			...item,
		}));
		await ff.submitMany(items as never);
	}
}

/** The same with so many in front that nobody can serve. */
export async function headOfLine(target: Fabric, inFront: number, count: number): Promise<number> {
	await fill(target, inFront, { priority: 9, requiredCapabilities: ["nobody-has-this"] });
	return emptyLane(target, count);
}

/** On an empty lane, by a worker that does one thing at a time. */
export const emptyLaneInTurn = (target: Fabric, count: number): Promise<number> =>
	dispatchTimes(target, count, (n) => target.ff.submit("ping", payload(n)), 1);

/**
 * The same under a key of its own, while another key has so many queued. The worker does one thing at a time: with more,
 * what is measured is how long it takes over a handful of the others, not whose turn it is.
 */
export async function besideBacklog(target: Fabric, queued: number, count: number): Promise<number> {
	await fill(target, queued, { fairnessKey: "big" });
	return dispatchTimes(target, count, (n) => target.ff.submit("ping", payload(n), { fairnessKey: "single" }), 1);
}

/** Milliseconds to pause a lane in which so many wait. */
export async function pauseTime(target: Fabric, queued: number): Promise<number> {
	await fill(target, queued, {});
	const times: number[] = [];
	for (let n = 0; n < 9; n++) {
		const startedAt = performance.now();
		await target.ff.backend.lanes.pause("default");
		times.push(performance.now() - startedAt);
		await target.ff.backend.lanes.resume("default");
	}
	return median(times);
}
