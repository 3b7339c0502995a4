import { FlowFabric } from "../../src/index.ts";
import { Child } from "../http/child.ts";
import { countBlobCommits } from "../limits/blob-commits.ts";
import type { Line } from "../report.ts";
import type { StreamsBench } from "./streams-bench.ts";
import { TAILS_EACH, type TailFigures, type TailsTarget, tokensToTails, WRITERS } from "./tails.ts";

/** Each takes twenty seconds. */
const MOST_ROUNDS = 3;

/** Many tokens to many tails, in one process and through a server: how late they come, and what everybody else notices. */
export async function tailsLines(bench: StreamsBench): Promise<Line[]> {
	return [
		...(await linesOf(bench, "in one process", () => openHere(bench))),
		...(await linesOf(bench, "over HTTP", () => openServed(bench))),
	];
}

async function openHere(bench: StreamsBench): Promise<TailsTarget> {
	const { ff, engine, close } = await bench.open();
	const commits = countBlobCommits(engine.store);
	return { ff, close, commits: async () => commits() };
}

async function openServed(bench: StreamsBench): Promise<TailsTarget> {
	const { url, leave } = await bench.place();
	const server = await Child.start("child-server", [url, String(bench.partitions)]);
	const ff = FlowFabric.connect(server.address);
	return {
		ff,
		commits: async () => (await server.usage()).blobCommits,
		async close() {
			await ff.close();
			await server.stop();
			await leave();
		},
	};
}

async function linesOf(
	{ store, partitions, rounds, progress }: StreamsBench,
	where: string,
	open: () => Promise<TailsTarget>,
): Promise<Line[]> {
	const all: TailFigures[] = [];
	for (let round = 0; round <= Math.min(rounds, MOST_ROUNDS); round++) {
		const target = await open();
		const figures = await tokensToTails(target);
		await target.close();
		if (round === 0) continue;
		all.push(figures);
		progress(
			`  round ${round} ${where}: lag p50 ${percentile(figures.lags, 50).toFixed(0)}, p99 ${percentile(figures.lags, 99).toFixed(0)} ms; other commands p99 ${percentile(figures.beside, 99).toFixed(2)} beside ${percentile(figures.alone, 99).toFixed(2)} ms`,
		);
	}
	const lags = all.flatMap((figures) => figures.lags);
	const beside = percentile(
		all.flatMap((figures) => figures.beside),
		99,
	);
	const alone = percentile(
		all.flatMap((figures) => figures.alone),
		99,
	);
	const perToken = all.reduce((sum, { commitsPerToken }) => sum + commitsPerToken, 0) / all.length;
	const place = { store, partitions };
	const load = `${WRITERS * TAILS_EACH} tails of ${WRITERS} × 50 tokens/s ${where}`;
	return [
		{ scenario: `${load}: lag p50`, ...place, figure: percentile(lags, 50), unit: "ms" },
		{ scenario: `${load}: lag p99`, ...place, figure: percentile(lags, 99), unit: "ms" },
		{
			scenario: `${load}: other commands p99`,
			...place,
			figure: beside,
			unit: "ms",
			against: { name: "without streams", figure: alone, ratio: beside / alone, wanted: "≤ 3" },
		},
		{
			scenario: `${load}: commits a token`,
			...place,
			figure: perToken,
			unit: "commits",
			against: { name: "one each", figure: 1, ratio: perToken, wanted: "≤ 0.2" },
		},
	];
}

function percentile(values: readonly number[], percent: number): number {
	const sorted = [...values].sort((a, b) => a - b);
	return sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))] ?? Number.NaN;
}
