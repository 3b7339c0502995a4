import type { Fence } from "../../src/kernel/fence.ts";
import type { StreamsTarget } from "./streams-bench.ts";

/** As long as a token of a model is, or somewhat longer. */
export const TOKEN = "token ";

/** An execution that is held, and frames are appended to. */
export interface HeldStream {
	id: string;
	fence: Fence;
	/** Of the last frame, as a worker counts them. */
	seq: number;
}

export async function holdStreams(
	{ ff }: Pick<StreamsTarget, "ff">,
	count: number,
	maxFrames?: number,
): Promise<HeldStream[]> {
	const { executions, leases } = ff.backend;
	const policy = maxFrames === undefined ? {} : { policy: { stream: { maxFrames } } };
	// One by one, as they are submitted: those that come together would share a partition.
	for (let n = 0; n < count; n++) await executions.create({ kind: "writer", ...policy });
	const held: HeldStream[] = [];
	while (held.length < count) {
		const claimed = await leases.claim({
			kinds: ["writer"],
			workerId: "bench",
			instanceId: "bench",
			max: count - held.length,
			leaseMs: 3_600_000,
			waitMs: 10_000,
		});
		if (claimed.length === 0) throw new Error("nothing to claim");
		for (const { id, lease } of claimed) held.push({ id, fence: { leaseId: lease.id, epoch: lease.epoch }, seq: 0 });
	}
	return held;
}

/** Appends of so many tokens each, to all streams at once and to each one after the other. Seconds for all. */
export async function appendAll(
	{ ff }: Pick<StreamsTarget, "ff">,
	streams: readonly HeldStream[],
	appends: number,
	tokens: number,
): Promise<number> {
	const { leases } = ff.backend;
	let left = appends;
	const startedAt = performance.now();
	await Promise.all(
		streams.map(async (stream) => {
			const { id, fence } = stream;
			while (left-- > 0) {
				const frames = Array.from({ length: tokens }, () => ({ text: TOKEN, seq: ++stream.seq }));
				await leases.appendFrames(id, { fence, frames });
			}
		}),
	);
	return (performance.now() - startedAt) / 1000;
}
