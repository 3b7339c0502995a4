import type { WaveReport } from "./attacker-program.ts";
import type { Latencies } from "./latencies.ts";
import type { ServerAnswers } from "./server-program.ts";

/**
 * No call may keep the event loop for more than 50 ms, so that whoever comes right behind one waits that long, however fast
 * the machine is when nothing happens: five times 10 ms are allowed in any case.
 */
const FLOOR_MS = 10;
const MOST_TIMES = 5;

/** How long a kind of call takes the second tenant, in 99 of 100 cases. */
export interface Share {
	kind: string;
	quietMs: number;
	p99Ms: number;
	mostMs: number;
}

export interface Figures {
	store: string;
	seed: number;
	requests: number;
	report: WaveReport;
	shares: Share[];
	jobs: number;
	before: ServerAnswers["memory"];
	after: ServerAnswers["memory"];
	loop: ServerAnswers["loop"];
}

/** The quiet before the attack and the quiet after it: what else the machine has to do comes and goes. */
export function sharesOf(quiet: readonly Latencies[], attacked: Latencies): Share[] {
	return attacked.kinds.map((kind) => {
		const quietMs = Math.max(...quiet.map((latencies) => latencies.p99(kind)));
		return {
			kind,
			quietMs: rounded(quietMs),
			p99Ms: rounded(attacked.p99(kind)),
			mostMs: rounded(MOST_TIMES * Math.max(quietMs, FLOOR_MS)),
		};
	});
}

/** One line for a note. */
export function lineOf({ store, seed, requests, report, shares, jobs, before, after, loop }: Figures): string {
	const { statuses, rough, cut, seconds, neverDone } = report;
	const perSecond = Math.round(requests / seconds);
	const told = statuses.map(([status, count]) => `${status}: ${count}`).join(", ");
	const felt = shares.map(({ kind, quietMs, p99Ms }) => `${kind} ${quietMs} → ${p99Ms}`).join(", ");
	const worst = loop.worst.map(({ route, ms }) => `${route} ${ms}`).join(", ");
	return [
		`hostile run on ${store}: seed ${seed}, ${requests} requests in ${Math.round(seconds)} s (${perSecond}/s; ${rough} rough, ${cut} cut off)`,
		`answers ${told}`,
		`routes that refused everything: ${neverDone.length > 0 ? neverDone.join(", ") : "none"}`,
		`the neighbour did ${jobs} jobs, p99 in ms undisturbed → attacked: ${felt}`,
		`memory ${rounded(before.liveMb)} → ${rounded(after.liveMb)} MB live, ${Math.round(before.residentMb)} → ${Math.round(after.residentMb)} MB resident`,
		`event loop p99.9 ${rounded(loop.p999Ms)} ms of ${loop.turns} turns, longest ${worst}, longest stall with parsing ${rounded(loop.stallMs)} ms`,
	].join("; ");
}

const rounded = (value: number): number => Math.round(value * 10) / 10;
