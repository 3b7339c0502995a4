import type { AskPartition } from "../../engine/duties/index-walk.ts";
import { detailBlobKey, type Payload } from "../../kernel/payload.ts";
import { decode, recordTypeOf } from "../../kernel/record-types.ts";
import type { AttemptRecord } from "../../kernel/records/attempt.ts";
import type { Attempt, ExecutionRecord, Failure } from "../../kernel/records/execution.ts";
import type { SignalRecord } from "../../kernel/records/signal.ts";
import type { StepRecord } from "../../kernel/records/step.ts";
import type { StoredRecord } from "../../store/port.ts";

/** Bytes read at a time; each may be as long as a payload. */
const BLOBS_AT_ONCE = 16;

/** Bytes that a record leads to. */
interface Reference {
	record: StoredRecord;
	field: string;
	blob: string;
	/** How many they must be; undefined when the record does not say. */
	size: number | undefined;
}

/** Reads all bytes that these records lead to: which of them are not there, or are not as many as they should be. */
export async function checkPayloads(ask: AskPartition, records: readonly StoredRecord[]): Promise<string[]> {
	const references = records.flatMap(referencesOf);
	const problems: string[] = [];
	for (let at = 0; at < references.length; at += BLOBS_AT_ONCE) {
		const some = references.slice(at, at + BLOBS_AT_ONCE);
		const { blobs } = await ask((store, partition) =>
			store.readBlobs(
				partition,
				some.map(({ blob }) => blob),
			),
		);
		for (const [n, reference] of some.entries()) {
			const problem = problemOf(reference, blobs[n]);
			if (problem !== undefined && (await isAsItWas(ask, reference.record))) problems.push(problem);
		}
	}
	return problems;
}

function problemOf({ record, field, blob, size }: Reference, bytes: Uint8Array | undefined): string | undefined {
	const named = `record ${record.key}: the bytes ${blob} of its ${field}`;
	if (!bytes) return `${named} are not there`;
	if (size === undefined || bytes.byteLength === size) return undefined;
	return `${named} are ${bytes.byteLength}, and should be ${size}`;
}

/** Others may write meanwhile: what seems wrong counts only if the record stayed. */
async function isAsItWas(ask: AskPartition, { key, version }: StoredRecord): Promise<boolean> {
	const { records } = await ask((store, partition) => store.read(partition, [key]));
	return records[0]?.version === version;
}

function referencesOf(record: StoredRecord): Reference[] {
	const { key, doc } = record;
	const found: Reference[] = [];
	const add = (field: string, payload: Payload | null | undefined) => {
		if (payload?.ref !== undefined) found.push({ record, field, blob: payload.ref, size: payload.size });
	};
	const addFailure = (failure: Failure | null | undefined) => {
		if (failure?.detailEpoch === undefined) return;
		const blob = detailBlobKey(key.split("/", 1)[0] ?? "", failure.detailEpoch);
		found.push({ record, field: "failure", blob, size: undefined });
	};
	const addAttempt = (attempt: Attempt | null) => {
		add("result", attempt?.result);
		addFailure(attempt?.failure);
	};
	switch (recordTypeOf(key)) {
		case "execution": {
			const { input, attempt } = decode(key, doc) as ExecutionRecord;
			add("input", input);
			addAttempt(attempt);
			break;
		}
		case "attempt":
			addAttempt((decode(key, doc) as AttemptRecord).attempt);
			break;
		case "step": {
			const { result, error } = decode(key, doc) as StepRecord;
			add("result", result);
			addFailure(error);
			break;
		}
		case "signal":
			add("payload", (decode(key, doc) as SignalRecord).payload);
			break;
	}
	return found;
}
