import { median } from "../limits/sqlite-writes.ts";
import type { Line } from "../report.ts";
import { appendAll, holdStreams, TOKEN } from "./appends.ts";
import type { StreamsBench, StreamsTarget } from "./streams-bench.ts";

const WARM_UP = 0.5;
const TURNS = 10;
/** What a worker sends together of a handler that writes fifty tokens a second. */
const JOINED = 10;

interface Load {
	streams: number;
	appends: number;
	/** Tokens of each append. */
	tokens: number;
}

const LOADS: readonly Load[] = [
	{ streams: 1, appends: 3000, tokens: 1 },
	{ streams: 100, appends: 20_000, tokens: 1 },
	{ streams: 1, appends: 3000, tokens: JOINED },
	{ streams: 100, appends: 20_000, tokens: JOINED },
];

interface Figures {
	perSecond: number;
	/** Not a number where there is nothing to compare with. */
	bare: number;
	cpuMicros: number;
	perCommit: number;
	/** That the store takes for a token, if it can tell. */
	bytes: number;
}

/** How fast frames are appended, beside rows of the same bytes that nothing but the store is asked to append. */
export async function appendLines(bench: StreamsBench): Promise<Line[]> {
	const lines: Line[] = [];
	for (const load of LOADS) lines.push(...(await linesOf(bench, load)));
	return lines;
}

async function linesOf(bench: StreamsBench, load: Load): Promise<Line[]> {
	const { store, partitions, rounds, progress } = bench;
	const all: Figures[] = [];
	for (let round = 0; round <= rounds; round++) {
		const target = await bench.open();
		const figures = await measure(target, load);
		await target.close();
		if (round === 0) continue;
		all.push(figures);
		const { perSecond, bare } = figures;
		progress(
			`  ${named(load)}, round ${round}: ${perSecond.toFixed(0)}${Number.isNaN(bare) ? "" : ` of ${bare.toFixed(0)}`}`,
		);
	}
	const of = (name: keyof Figures): number => median(all.map((figures) => figures[name]));
	const figure = of("perSecond");
	const limit = of("bare");
	const place = { store, partitions };
	const lines: Line[] = [
		{
			scenario: named(load),
			...place,
			figure,
			unit: "appends/s",
			...(Number.isNaN(limit)
				? undefined
				: { against: { name: "bare appends", figure: limit, ratio: figure / limit, wanted: "≥ 0.3" } }),
			unitsPerCommit: of("perCommit"),
			cpuMicros: of("cpuMicros"),
		},
	];
	const bytes = of("bytes");
	const given = TOKEN.length;
	// One stream is too few: a store takes room by the page.
	if (load.streams > 1 && !Number.isNaN(bytes))
		lines.push({
			scenario: `a token that is kept, ${load.tokens} an append`,
			...place,
			figure: bytes,
			unit: "bytes",
			against: { name: "given", figure: given, ratio: bytes / given },
		});
	return lines;
}

const named = ({ streams, tokens }: Load): string =>
	`append ${tokens === 1 ? "a token" : `${tokens} tokens`} to ${streams === 1 ? "one stream" : `${streams} streams`}`;

/** Some of ours, some bare ones, and so on: whatever else the machine does then, it does to both. */
async function measure(target: StreamsTarget, { streams, appends, tokens }: Load): Promise<Figures> {
	const { engine } = target;
	const held = await holdStreams(target, streams);
	await appendAll(target, held, appends * WARM_UP, tokens);
	const bare = await target.bare?.(streams);
	const bytesBefore = await target.bytes?.();
	const commitsBefore = engine.counters.commits;
	const rows = Array.from({ length: tokens }, () => Buffer.from(TOKEN));
	const count = appends / TURNS;
	let [seconds, bareSeconds, micros, perCommit] = [0, 0, 0, 1];
	for (let turn = 1; turn <= TURNS; turn++) {
		const microsBefore = await target.cpuMicros();
		seconds += await appendAll(target, held, count, tokens);
		micros += (await target.cpuMicros()) - microsBefore;
		perCommit = (turn * count) / (engine.counters.commits - commitsBefore);
		bareSeconds += (await bare?.append({ count, rows, perCommit: Math.round(perCommit) })) ?? Number.NaN;
	}
	await bare?.close();
	const grown = ((await target.bytes?.()) ?? Number.NaN) - (bytesBefore ?? Number.NaN);
	return {
		perSecond: appends / seconds,
		bare: appends / bareSeconds,
		cpuMicros: micros / appends,
		perCommit,
		bytes: grown / (appends * tokens),
	};
}
