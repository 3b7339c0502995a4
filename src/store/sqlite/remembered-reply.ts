import type { CommitReply, UnitResult } from "../port.ts";

/** As stored: a plain count when every unit was applied, which is nearly always. */
interface StoredReply {
	time: number;
	commit: number;
	results: UnitResult[] | number;
}

export function encodeReply({ time, commit, results }: CommitReply): string {
	const stored: StoredReply = { time, commit, results: results.every(({ ok }) => ok) ? results.length : results };
	return JSON.stringify(stored);
}

export function decodeReply(text: string): CommitReply {
	const { time, commit, results } = JSON.parse(text) as StoredReply;
	return {
		time,
		commit,
		results: typeof results === "number" ? Array.from({ length: results }, () => ({ ok: true })) : results,
	};
}
