import type { SignalView } from "../../contract/replies.ts";
import { MOST_SIGNALLED_BYTES } from "../../kernel/carried.ts";
import { JSON_CONTENT, type Payload } from "../../kernel/payload.ts";
import { countedQueue } from "../../kernel/placement.ts";
import { type ExecutionRecord, partsOf } from "../../kernel/records/execution.ts";
import { type SignalRecord, signalKey, signalSubject } from "../../kernel/records/signal.ts";
import { type SuspensionRecord, suspensionKey } from "../../kernel/records/suspension.ts";
import { hasEndedBy } from "../../kernel/suspension/handing-over.ts";
import type { Session } from "../calls/session.ts";
import type { PartitionRunner } from "../partition/partition-runner.ts";
import { asValue, unpack } from "../payloads.ts";
import { readRecords } from "./records.ts";

/** Most signals that are handed over. */
const MOST_SIGNALS = 1000;

/** The signals of the last suspension, for the worker that goes on. */
export async function signalsOfLast(session: Session, record: ExecutionRecord): Promise<SignalView[]> {
	const { suspensions, handed, generation } = partsOf(record);
	if (suspensions === 0) return [];
	return handed
		? readSignals(session, session.runnerOf(record.id), record.id, handed)
		: signalsOf(session, record.id, suspensions, generation);
}

/** The signals by which a suspension of an execution ended; none if it is not of the generation asked for. */
export async function signalsOf(
	session: Session,
	id: string,
	number: number,
	generation?: number,
): Promise<SignalView[]> {
	const runner = session.runnerOf(id);
	const { records } = await runner.ask((store, partition) => store.read(partition, [suspensionKey(id, number)]));
	const [stored] = records;
	const suspension = stored && stored.version > 0 ? session.decode<SuspensionRecord>(stored) : undefined;
	if (!suspension) return [];
	// Of an earlier run of the work that kept nothing of it.
	if (generation !== undefined && suspension.generation !== generation) return [];
	if (suspension.counted === 0 && suspension.endedBy !== "timeout") return [];
	const queue = countedQueue(id, number);
	const { entries } = await runner.ask((store, partition) => store.first(partition, queue, MOST_SIGNALS));
	const numbers = entries.map(({ key }) => signalSubject(key).number);
	return readSignals(session, runner, id, numbers, (signal) => hasEndedBy(suspension, signal));
}

/** Signals by their numbers, with what they carry. */
export async function readSignals(
	session: Session,
	runner: PartitionRunner,
	executionId: string,
	numbers: readonly number[],
	isWanted: (signal: SignalRecord) => boolean = () => true,
): Promise<SignalView[]> {
	if (numbers.length === 0) return [];
	const keys = numbers.map((number) => signalKey(executionId, number));
	const records = await readRecords<SignalRecord>(session, runner, keys);
	const signals = records.filter((signal) => signal !== undefined && isWanted(signal)) as SignalRecord[];
	let left = MOST_SIGNALLED_BYTES;
	const carried = signals.map(({ payload }) => {
		left -= payload?.size ?? 0;
		return left >= 0;
	});
	const refs = signals.flatMap(({ payload }, n) => (carried[n] && payload?.ref !== undefined ? [payload.ref] : []));
	const { blobs } =
		refs.length === 0 ? { blobs: [] } : await runner.ask((store, partition) => store.readBlobs(partition, refs));
	const views: SignalView[] = [];
	for (const [n, signal] of signals.entries()) {
		const { payload } = signal;
		if (payload && carried[n]) await session.engine.ownTurns.before(payload.size);
		views.push(view(signal, carried[n] ?? false, blobs[refs.indexOf(payload?.ref ?? "")]));
	}
	return views;
}

function view(signal: SignalRecord, isCarried: boolean, blob: Uint8Array | undefined): SignalView {
	const { id, name, waitpoint, waitpointId, payload, source, category, correlationId, at } = signal;
	return {
		id,
		name,
		...(waitpointId === "" ? undefined : { waitpoint, waitpointId }),
		...(payload ? payloadView(payload, isCarried, blob) : undefined),
		...(source ? { source } : undefined),
		...(category === "" ? undefined : { category }),
		...(correlationId === "" ? undefined : { correlationId }),
		at,
	};
}

function payloadView(payload: Payload, isCarried: boolean, blob: Uint8Array | undefined): Partial<SignalView> {
	const { contentType = JSON_CONTENT, size } = payload;
	if (!isCarried) return { contentType, payloadSize: size };
	const value = asValue(unpack(payload, blob));
	return "base64" in value ? { contentType, payloadBase64: value.base64 } : { contentType, payload: value.value };
}
