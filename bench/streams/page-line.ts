import { median } from "../limits/sqlite-writes.ts";
import type { Line } from "../report.ts";
import { appendAll, type HeldStream, holdStreams } from "./appends.ts";
import type { StreamsBench, StreamsTarget } from "./streams-bench.ts";

const FRAMES = 10_000;
const PAGE = 100;
/** Pages at each end that are compared. */
const PAGES = 10;

/**
 * Reading the last pages of a long stream, in turns with the first: whatever else the machine does then, it does to both.
 * Every frame was appended alone, which is the most there is to find.
 */
export async function pageLine(bench: StreamsBench): Promise<Line> {
	const { store, partitions, rounds, progress } = bench;
	const target = await bench.open();
	const [stream] = await holdStreams(target, 1, 2 * FRAMES);
	if (!stream) throw new Error("nothing is held");
	await appendAll(target, [stream], FRAMES, 1);
	const starts = await pageStarts(target, stream);
	const first: number[] = [];
	const last: number[] = [];
	for (let round = 0; round <= 4 * rounds; round++) {
		for (let n = 0; n < PAGES; n++) {
			const early = await readPage(target, stream, starts[n]);
			const late = await readPage(target, stream, starts[starts.length - PAGES + n]);
			if (round === 0) continue;
			first.push(early);
			last.push(late);
		}
	}
	await target.close();
	const [figure, limit] = [(1000 * median(last)) / PAGE, (1000 * median(first)) / PAGE];
	progress(`  a frame of ${FRAMES}: ${figure.toFixed(1)} µs at the end, ${limit.toFixed(1)} at the start`);
	return {
		scenario: `read a frame, the last of ${FRAMES}`,
		store,
		partitions,
		figure,
		unit: "µs",
		against: { name: "the first", figure: limit, ratio: figure / limit, wanted: "≤ 1.3" },
	};
}

/** The ids of the frames that pages begin with: all of it read once, as a reader would. */
async function pageStarts({ ff }: StreamsTarget, { id }: HeldStream): Promise<(string | undefined)[]> {
	const starts: (string | undefined)[] = [];
	let count = 0;
	for (let from: string | undefined, isMore = true; isMore; ) {
		starts.push(from);
		const page = await ff.backend.streams.read(id, 0, { limit: PAGE, ...(from === undefined ? undefined : { from }) });
		count += page.frames.length;
		from = page.nextFrom;
		isMore = from !== undefined;
	}
	if (count !== FRAMES) throw new Error(`${count} frames were read, not ${FRAMES}`);
	return starts;
}

/** Milliseconds. */
async function readPage({ ff }: StreamsTarget, { id }: HeldStream, from: string | undefined): Promise<number> {
	const startedAt = performance.now();
	const { frames } = await ff.backend.streams.read(id, 0, {
		limit: PAGE,
		...(from === undefined ? undefined : { from }),
	});
	if (frames.length !== PAGE) throw new Error(`a page of ${frames.length} frames, not ${PAGE}`);
	return performance.now() - startedAt;
}
