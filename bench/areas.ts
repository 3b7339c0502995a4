import { eventLines } from "./event-lines.ts";
import { flowLines } from "./flow-lines.ts";
import type { Line } from "./report.ts";
import { stepsLines } from "./steps-lines.ts";
import { streamsLines } from "./streams/lines.ts";
import { localStreams } from "./streams/streams-bench.ts";
import { suspensionLines } from "./suspension-lines.ts";
import { openTarget, type StoreName } from "./target.ts";

/** What the measurements of an area are given. */
export interface AreaBench {
	store: StoreName;
	partitions: number;
	rounds: number;
	/** How long nothing happens where that is looked at. */
	idleMs: number;
	progress(text: string): void;
}

/** Scenarios that come to several lines. */
export const AREAS: Readonly<Record<string, (bench: AreaBench) => Promise<Line[]>>> = {
	async events({ store, partitions, rounds, progress }) {
		const target = await openTarget(store, partitions);
		const measured = await eventLines({ ff: target.ff, store, partitions, rounds, progress });
		await target.close();
		return measured;
	},
	suspension: suspensionLines,
	steps: ({ store, partitions, rounds, progress }) =>
		stepsLines({ store, partitions, rounds, open: () => openTarget(store, partitions), progress }),
	flows: ({ store, partitions, rounds, progress }) =>
		flowLines({ store, partitions, rounds, open: (count) => openTarget(store, count), progress }),
	streams: ({ store, partitions, rounds, idleMs, progress }) =>
		streamsLines(localStreams(store, partitions, { rounds, stuckMs: idleMs, progress })),
};
