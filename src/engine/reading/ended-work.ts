import type { ParentView } from "../../contract/replies.ts";
import { failureChars, MOST_PASSED_FAILURES } from "../../kernel/carried.ts";
import { JSON_CONTENT, MOST_PASSED_BYTES, type Payload } from "../../kernel/payload.ts";
import { type AttemptRecord, attemptKey } from "../../kernel/records/attempt.ts";
import type { Attempt, ExecutionRecord, Failure } from "../../kernel/records/execution.ts";
import type { PublicState } from "../../kernel/state.ts";
import type { Session } from "../calls/session.ts";
import type { PartitionRunner } from "../partition/partition-runner.ts";
import { asValue, unpack } from "../payloads.ts";
import { readRecords } from "./records.ts";
import { failureView } from "./views.ts";

/** What other work came to, as somebody is told who waited for it. */

/** Work that has ended, or not, and the attempt by which it did. */
export interface Ending {
	executionId: string;
	/** Undefined when it is gone. */
	record: ExecutionRecord | undefined;
	state: PublicState;
	/** Which attempt it was; the last one when left out. */
	attempt?: number | undefined;
}

/** In the order given. All of it lives in one partition. */
export async function endingViews(
	session: Session,
	runner: PartitionRunner,
	endings: readonly Ending[],
): Promise<ParentView[]> {
	const results: (Payload | undefined)[] = [];
	const failures: (Failure | undefined)[] = [];
	const aside = await attemptsAside(session, runner, endings);
	for (const [n, { record, state }] of endings.entries()) {
		const ended: { attempt: Attempt | null; failure?: Failure | null } | undefined = aside.has(n)
			? aside.get(n)
			: record;
		results.push(state === "completed" ? ended?.attempt?.result : undefined);
		const isBad = state === "failed" || state === "expired" || state === "cancelled";
		failures.push(isBad ? (ended?.attempt?.failure ?? ended?.failure ?? undefined) : undefined);
	}
	let left = MOST_PASSED_BYTES;
	const carried = results.map((result) => {
		const size = result?.size ?? 0;
		if (size > left) return false;
		left -= size;
		return true;
	});
	const refs = results.flatMap((result, n) => (carried[n] && result?.ref ? [result.ref] : []));
	const blobs = refs.length === 0 ? [] : (await runner.ask((store, at) => store.readBlobs(at, refs))).blobs;
	const blobOf = new Map(refs.map((ref, n) => [ref, blobs[n]]));
	let room = MOST_PASSED_FAILURES;
	const views: ParentView[] = [];
	for (const [n, { executionId, state }] of endings.entries()) {
		const view: ParentView = { executionId, publicState: state };
		const failure = failures[n];
		if (failure && room > 0) {
			room -= failureChars(failure);
			if (room >= 0) view.failure = failureView(failure);
		}
		const result = results[n];
		if (result) {
			if (carried[n]) await session.engine.ownTurns.before(result.size);
			withResult(view, result, carried[n] ?? false, blobOf);
		}
		views.push(view);
	}
	return views;
}

/** Of what was replayed since, the attempt that is meant has been put aside; by place. */
async function attemptsAside(
	session: Session,
	runner: PartitionRunner,
	endings: readonly Ending[],
): Promise<Map<number, AttemptRecord | undefined>> {
	const places: number[] = [];
	const keys: string[] = [];
	for (const [n, { executionId, record, attempt }] of endings.entries()) {
		if (attempt === undefined || record?.attempt?.index === attempt) continue;
		places.push(n);
		keys.push(attemptKey(executionId, attempt));
	}
	const found = await readRecords<AttemptRecord>(session, runner, keys);
	return new Map(places.map((place, n) => [place, found[n]]));
}

function withResult(
	view: ParentView,
	result: Payload,
	isCarried: boolean,
	blobOf: ReadonlyMap<string, Uint8Array | undefined>,
): void {
	view.size = result.size;
	view.contentType = result.contentType ?? JSON_CONTENT;
	if (!isCarried) return;
	const value = asValue(unpack(result, blobOf.get(result.ref ?? "")));
	if ("base64" in value) view.resultBase64 = value.base64;
	else view.result = value.value;
}
