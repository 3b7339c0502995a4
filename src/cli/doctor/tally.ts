import { faultOf } from "../../kernel/inspect.ts";
import { decode, recordTypeOf } from "../../kernel/record-types.ts";
import type { ExecutionRecord } from "../../kernel/records/execution.ts";
import { publicState } from "../../kernel/state.ts";
import type { RecordFault } from "../../kernel/unreadable.ts";
import { oneLine } from "../format/text.ts";

/** Samples are bounded, counts are not. */
export const MOST_SAMPLES = 20;

export interface CorruptRecord extends RecordFault {
	partition: number;
	key: string;
}

/** What the records of a store are, added up. */
export interface Tally {
	total: number;
	records: Record<string, number>;
	executions: Record<string, number>;
	documentBytes: number;
	corrupt: { count: number; samples: CorruptRecord[] };
}

export const emptyTally = (): Tally => ({
	total: 0,
	records: {},
	executions: {},
	documentBytes: 0,
	corrupt: { count: 0, samples: [] },
});

/** Adds a record; false when it is corrupt. */
export function count(tally: Tally, partition: number, key: string, doc: string): boolean {
	const type = recordTypeOf(key) ?? "unknown";
	tally.total += 1;
	tally.records[type] = (tally.records[type] ?? 0) + 1;
	tally.documentBytes += Buffer.byteLength(doc);
	const fault = faultOf(key, doc);
	if (fault) {
		tally.corrupt.count += 1;
		if (tally.corrupt.samples.length < MOST_SAMPLES) tally.corrupt.samples.push({ partition, key, ...fault });
		return false;
	}
	if (type === "execution") {
		const state = publicState(decode(key, doc) as ExecutionRecord);
		tally.executions[state] = (tally.executions[state] ?? 0) + 1;
	}
	return true;
}

export function bytesPerExecution(tally: Tally, bytes: number): number {
	const executions = tally.records["execution"] ?? 0;
	return executions > 0 ? Math.round(bytes / executions) : 0;
}

export function corruptProblems({ corrupt }: Tally): string[] {
	const told = corrupt.samples.map(({ partition, key, field, problem }) =>
		oneLine(`record ${key} in partition ${partition}: ${field === "" ? "" : `${field} `}${problem}`),
	);
	return [...told, ...more("corrupt records", corrupt.count - told.length)];
}

export const more = (what: string, count: number): string[] => (count > 0 ? [`… and ${count} more ${what}`] : []);
