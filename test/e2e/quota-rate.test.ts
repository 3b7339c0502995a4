import { describe, expect, onTestFinished, test } from "vitest";
import { FlowFabric } from "../../src/index.ts";
import { storeBeds } from "./store-beds.ts";

const RATE = { max: 100, windowMs: 1000 };
const SECONDS = 10;
const WORKERS = 8;
/** The first claims find all of the work at once, and set aside what there is no room for: on a busy machine that takes a while. */
const SETTLING_SECONDS = 2;
const EXECUTIONS = RATE.max * (SETTLING_SECONDS + SECONDS + 1);

/** When work was admitted, by the events that tell of it, in order. */
async function admissions(ff: FlowFabric): Promise<number[]> {
	const found: number[] = [];
	for (let cursor = "start"; ; ) {
		const { events, nextCursor } = await ff.feed({ cursor, limit: 1000 });
		if (events.length === 0) return found.sort((a, b) => a - b);
		for (const event of events) if (event.type === "claimed") found.push(Number(event.admittedAt));
		cursor = nextCursor;
	}
}

const rows = storeBeds
	.filter(({ name, partitions }) => partitions === 8 && name !== "a valkey cluster")
	.map((row) => ({ ...row, engines: row.name === "sqlite" ? 1 : 2 }));

describe.each(rows)("a rate of 100 a second on $name, $engines engines", ({ name, partitions, engines, open }) => {
	test(`${WORKERS} workers are let in as room comes for ${SECONDS} seconds, and never more`, async () => {
		const bed = await open();
		onTestFinished(() => bed.discard());
		const opened: FlowFabric[] = [];
		for (let n = 0; n < engines; n++) opened.push(await FlowFabric.open(bed.url, { partitions }));
		onTestFinished(async () => void (await Promise.all(opened.map((ff) => ff.close()))));
		const [ff] = opened as [FlowFabric];
		await ff.quotas.create({ id: "provider", rate: RATE });
		const work = Array.from({ length: EXECUTIONS }, (_, n) => ({ kind: "call", input: { n }, quotas: ["provider"] }));
		await ff.submitMany(work.slice(0, 1000));
		await ff.submitMany(work.slice(1000));

		let begun = 0;
		await new Promise<void>((resolve) => {
			for (let n = 0; n < WORKERS; n++) {
				const worker = (opened[n % engines] as FlowFabric).worker({ concurrency: 4 });
				worker.handle("call", async () => void (++begun === EXECUTIONS && resolve()));
				void worker.start();
			}
		});

		const admitted = await admissions(ff);
		expect(admitted).toHaveLength(EXECUTIONS);
		const rateFrom = (second: number): number => {
			const from = (admitted[0] ?? 0) + second * 1000;
			return admitted.filter((at) => at >= from && at < from + SECONDS * 1000).length / SECONDS;
		};
		const perSecond = rateFrom(SETTLING_SECONDS);
		// Each is so many behind the one it follows; what is exactly as old as the window no longer counts.
		const least = Math.min(...admitted.slice(RATE.max).map((at, n) => at - (admitted[n] ?? 0)));
		process.stdout.write(
			`rate of ${RATE.max} a second on ${name}, ${engines} engines, ${WORKERS} workers: ${rateFrom(0)} a second from the start, ${perSecond} after ${SETTLING_SECONDS} seconds; ${RATE.max + 1} admissions took ${least} ms at least\n`,
		);
		expect(least).toBeGreaterThanOrEqual(RATE.windowMs);
		// On a machine that has nothing else to do it is 90 and more; one that waits for the next look is far below this.
		expect(perSecond).toBeGreaterThanOrEqual(40);
	});
});
