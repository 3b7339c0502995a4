import { openStoreAt } from "../../library/open.ts";
import { withoutPassword } from "../../store/shown-url.ts";
import type { CommandContext } from "../command-context.ts";
import { oneLine } from "../format/text.ts";
import { auditStore, type Sorted } from "./audit.ts";
import type { Findings } from "./findings.ts";
import { bytesPerExecution, corruptProblems, more } from "./tally.ts";
import { timeProblems } from "./time-problems.ts";

/** Looks over a store, and with `repair` mends its index; one that only one process can have open must not be open. */
export async function examineStore({ terminal }: CommandContext, url: string, repair: boolean): Promise<Findings> {
	const store = await openStoreAt(url, { mustExist: true });
	try {
		terminal.status("checking the store itself");
		const checkUp = await store.checkUp?.();
		const audit = await auditStore(store, repair, (looked) => terminal.status(`${looked} records looked over`));
		const { tally, indexEntries, drift, mended, frames, flows, events, damage, unread } = audit;
		return {
			facts: {
				store: withoutPassword(url),
				...checkUp?.facts,
				partitions: store.partitions,
				...(checkUp
					? { bytes: checkUp.bytes, "bytes per execution": bytesPerExecution(tally, checkUp.bytes) }
					: undefined),
				"document bytes per execution": bytesPerExecution(tally, tally.documentBytes),
				records: tally.records,
				executions: tally.executions,
				"stream frames": frames,
				flows,
				events,
				"corrupt records": tally.corrupt.count,
				"index entries": indexEntries,
				"index drift": { missing: drift.missing, stale: drift.stale },
				...(repair ? { "index entries mended": { added: mended.missing, removed: mended.stale } } : undefined),
			},
			problems: [
				...(checkUp?.problems ?? []),
				...unread,
				...(await timeProblems(store)),
				...corruptProblems(tally),
				...damage.samples.map(oneLine),
				...more("problems of payloads, streams, flows and events", damage.count - damage.samples.length),
				...linesOf(drift, "is"),
			],
			...(repair ? { mended: linesOf(mended, "was") } : undefined),
		};
	} finally {
		terminal.status("");
		await store.close();
	}
}

function linesOf({ missing, stale, samples }: Sorted, verb: "is" | "was"): string[] {
	const told = samples.map(({ partition, queue, key, score, problem }) =>
		oneLine(`index of partition ${partition}: ${key} in ${queue} at ${score} ${verb} ${problem}`),
	);
	return [...told, ...more("index entries", missing + stale - told.length)];
}
