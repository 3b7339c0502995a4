import type { Line } from "../report.ts";
import { appendLines } from "./append-lines.ts";
import { pageLine } from "./page-line.ts";
import type { StreamsBench } from "./streams-bench.ts";
import { STUCK_TAILS, stuckTails } from "./stuck-tails.ts";
import { tailsLines } from "./tails-lines.ts";

const MIB = 2 ** 20;
/** A page that waits to be sent, and what of it is on its way. */
const MIB_A_TAIL = 4;
/** What a process takes from the system it keeps for later: for that the bound is wide, but it is one. */
const RESIDENT_MIB = 128;

/** What streams cost: to write, to read, to follow, and when nobody reads. */
export async function streamsLines(bench: StreamsBench): Promise<Line[]> {
	return [
		...(await appendLines(bench)),
		await pageLine(bench),
		...(await tailsLines(bench)),
		...(await stuckLines(bench)),
	];
}

async function stuckLines(bench: StreamsBench): Promise<Line[]> {
	const { store, partitions, stuckMs, progress } = bench;
	const { stuck, alone, liveGrowth, residentGrowth, shownLater } = await stuckTails(bench);
	progress(
		`  a tail that read on was shown ${shownLater} frames; its server's memory grew by ${(liveGrowth / MIB).toFixed(1)} MiB`,
	);
	const place = { store, partitions };
	const scenario = `${STUCK_TAILS} tails that do not read for ${Math.round(stuckMs / 1000)} s`;
	const growth = (what: string, bytes: number, allowed: number): Line => ({
		scenario: `${scenario}: ${what}`,
		...place,
		figure: Math.max(0, bytes / MIB),
		unit: "MiB more",
		against: { name: "allowed", figure: allowed, ratio: Math.max(0, bytes / MIB) / allowed, wanted: "≤ 1" },
	});
	return [
		{
			scenario: `${scenario}: their writer`,
			...place,
			figure: stuck,
			unit: "frames/s",
			against: { name: "without them", figure: alone, ratio: stuck / alone, wanted: "≥ 0.9" },
		},
		growth("memory held", liveGrowth, STUCK_TAILS * MIB_A_TAIL),
		growth("resident memory", residentGrowth, RESIDENT_MIB),
	];
}
