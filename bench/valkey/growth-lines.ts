import { median } from "../limits/sqlite-writes.ts";
import type { Line } from "../report.ts";
import { backlog } from "../scenarios/backlog.ts";
import { batchSubmit } from "../scenarios/batch-submit.ts";
import { payload } from "../target.ts";
import { openOn, type ValkeyBench } from "./valkey-bench.ts";

const FEW = 1000;
const CLAIMED = 4000;
const KEPT = 20_000;
const WANTED_BYTES = 2560;

/** What a claim and its complete cost while a little and while very much waits. */
export async function valkeyGrowthLine({ server, partitions, rounds, queued, progress }: ValkeyBench): Promise<Line> {
	const few = await openOn(server, partitions);
	const many = await openOn(server, partitions);
	await backlog(few, FEW, CLAIMED);
	progress(`  submitting ${queued} …`);
	await batchSubmit(many, queued);
	const fews: number[] = [];
	const manys: number[] = [];
	for (let round = 0; round <= rounds; round++) {
		const [less, more] = [await backlog(few, 0, CLAIMED), await backlog(many, 0, CLAIMED)];
		if (round === 0) continue;
		fews.push(less);
		manys.push(more);
		progress(`  round ${round}: ${more.toFixed(0)} µs beside ${less.toFixed(0)}`);
	}
	await few.close();
	await many.close();
	const figure = median(manys);
	const limit = median(fews);
	const against = { name: "with 1k queued", figure: limit, ratio: figure / limit, wanted: "≤ 1.3" };
	return {
		scenario: `claim+complete, ${queued / 1000}k queued`,
		store: "valkey",
		partitions,
		figure,
		unit: "µs",
		against,
	};
}

/** Memory of the server per execution that waits and per execution that has ended, beyond its input and result. */
export async function valkeyMemoryLines({ server, partitions }: ValkeyBench): Promise<Line[]> {
	const target = await openOn(server, partitions);
	await batchSubmit(target, 1000);
	const empty = (await server.usage()).bytes;
	await batchSubmit(target, KEPT);
	const waiting = (await server.usage()).bytes;
	await backlog(target, -KEPT, KEPT);
	const ended = (await server.usage()).bytes;
	await target.close();
	const input = JSON.stringify(payload(KEPT / 2)).length;
	const result = JSON.stringify({ ok: true }).length;
	const line = (what: string, bytes: number): Line => ({
		scenario: `memory per ${what} execution`,
		store: "valkey",
		partitions,
		figure: bytes,
		unit: "bytes",
		against: { name: "allowed", figure: WANTED_BYTES, ratio: bytes / WANTED_BYTES, wanted: "≤ 1" },
	});
	return [line("queued", (waiting - empty) / KEPT - input), line("finished", (ended - empty) / KEPT - input - result)];
}
