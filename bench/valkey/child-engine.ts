import type { LocalBackend } from "../../src/engine/local-backend.ts";
import { FlowFabric, type Run } from "../../src/index.ts";
import type { Store } from "../../src/store/port.ts";
import { payload } from "../target.ts";
import { answer, type Progress, sharedNow } from "./child.ts";

/** Whoever counts is told so often, and of the time it happened: the telling takes part of what is measured. */
const TELL_MS = 100;

/** An engine, its submitters and its worker; which of several workers does what the others submitted is left to them. */
const [url = "", partitions = "8", concurrency = "16", submitters = "64"] = process.argv.slice(2);
const ff = await FlowFabric.open(url, { partitions: Number(partitions), onFault: () => {} });
const { engine } = ff.backend as LocalBackend;
const sent = countUnits(engine.store);
let latest: Latest | undefined;
const progress: Progress = { done: 0, at: 0 };
let told = false;
const worker = ff.worker({ concurrency: Number(concurrency), handleSignals: false });
worker.handle("noop", async () => ({ ok: true }));
worker.use(async (_context, next) => {
	const result = await next();
	progress.done += 1;
	progress.at = sharedNow();
	if (!told) setTimeout(tell, TELL_MS);
	told = true;
	return result;
});

function tell(): void {
	process.send?.({ progress });
	told = false;
	progress.done = 0;
}

answer({
	work: () => worker.start(),
	async submit(count: number) {
		let submitted = 0;
		const submitter = async () => {
			while (submitted < count) await ff.submit("noop", payload(submitted++));
		};
		await Promise.all(Array.from({ length: Number(submitters) }, submitter));
	},
	/** Submits one, and says nothing about it before it is asked. */
	submitOne(n: number) {
		const at = process.hrtime.bigint();
		latest = { at, submitted: ff.submit("ping", payload(n)) };
		return undefined;
	},
	/** When the latest was submitted, by the clock all processes share; after it has ended. */
	async ended() {
		const { at, submitted } = latest as Latest;
		await (await submitted).wait();
		return String(at);
	},
	async units() {
		const { user, system } = process.cpuUsage();
		return { ...sent, cpuMicros: user + system };
	},
	close: () => ff.close(),
});

interface Latest {
	at: bigint;
	submitted: Promise<Run>;
}

/** Units sent, and those whose commands had to run again: they lost, or their batch came at a time that did not fit. */
function countUnits(store: Store): { units: number; again: number } {
	const counts = { units: 0, again: 0 };
	const commit = store.commit.bind(store);
	store.commit = async (partition, batch) => {
		const reply = await commit(partition, batch);
		counts.units += batch.units.length;
		counts.again += batch.units.filter((_, n) => !reply.results[n]?.ok).length;
		return reply;
	};
	return counts;
}
