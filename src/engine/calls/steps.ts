import { FlowFabricError } from "../../contract/errors.ts";
import { DEFAULT_LIMIT } from "../../contract/fields.ts";
import type { RecordedStep, StepPage, StepView } from "../../contract/replies.ts";
import { type RecordStepRequest, recordStepRequest, type StepsRequest, stepsRequest } from "../../contract/steps.ts";
import type { CommandOf } from "../../kernel/kernel.ts";
import { stepBlobKey } from "../../kernel/payload.ts";
import { stepsQueue } from "../../kernel/placement.ts";
import { partsOf } from "../../kernel/records/execution.ts";
import type { StepRecord } from "../../kernel/records/step.ts";
import type { PartitionRunner } from "../partition/partition-runner.ts";
import { asValue, contentOf, inlineValue, pack, unpack } from "../payloads.ts";
import type { Session } from "./session.ts";

/** A page ends behind so many bytes of results: pages of a thousand steps may be asked for, each of a megabyte. */
const PAGE_BYTES = 4 * 1024 * 1024;
/** Records read at a time. */
const READ_AT_ONCE = 250;

/** Keeps what a step of a handler came to, under the fence of its worker. */
export async function recordStep(session: Session, id: string, request: RecordStepRequest): Promise<RecordedStep> {
	const { fence, name, index, result, resultBase64, error, startedAt } = recordStepRequest.check(request);
	if (error && (result !== undefined || resultBase64 !== undefined)) {
		throw new FlowFabricError("invalid_input", {
			message: "error: must not be given together with a result",
			details: { field: "error" },
		});
	}
	const content = contentOf({ field: "result", value: result, base64: resultBase64, contentType: undefined });
	const { payload, blob } = pack(content, stepBlobKey(id, fence?.epoch ?? 0, name, index));
	const command: CommandOf<"recordStep"> = {
		op: "recordStep",
		executionId: id,
		name,
		index,
		result: payload,
		startedAt,
	};
	if (fence) command.fence = fence;
	if (blob) command.resultBlob = blob;
	if (error) command.error = { reason: error.reason, category: error.category ?? "error" };
	const { step } = await session.run("recordStep", command);
	return described(step);
}

/** Recorded steps in the order they were made. */
export async function listSteps(session: Session, id: string, request: StepsRequest = {}): Promise<StepPage> {
	const { limit = DEFAULT_LIMIT, cursor, values = false } = stepsRequest.check(request);
	const { cursors } = session.engine;
	const list = `steps of ${id}`;
	const { record, runner } = await session.read(id);
	const after = await cursors.after(list, cursor);
	const queue = stepsQueue(id, partsOf(record).generation);
	const { entries } = await runner.ask((store, partition) => store.first(partition, queue, limit + 1, after));
	const wanted = entries.slice(0, limit);
	const steps: StepView[] = [];
	let passed = 0;
	for (let bytes = 0; passed < wanted.length && bytes < PAGE_BYTES; ) {
		const keys = wanted.slice(passed, passed + READ_AT_ONCE).map(({ key }) => key);
		const { records } = await runner.ask((store, partition) => store.read(partition, keys));
		const taken: StepRecord[] = [];
		for (const stored of records) {
			if (bytes >= PAGE_BYTES) break;
			passed += 1;
			const step = stored.version > 0 ? session.decodeReadable<StepRecord>(stored) : undefined;
			if (step) taken.push(step);
			if (values) bytes += step?.result?.size ?? 0;
		}
		const blobs = values ? await blobsOf(runner, taken) : undefined;
		for (const step of taken) {
			if (blobs && step.result) await session.engine.ownTurns.before(step.result.size);
			steps.push({ ...described(step), ...(blobs && resultOf(step, blobs)) });
		}
	}
	const last = wanted[passed - 1];
	return { steps, ...(last && passed < entries.length ? { nextCursor: await cursors.at(list, last) } : undefined) };
}

/** What is kept apart of some steps, by its key. */
async function blobsOf(
	runner: PartitionRunner,
	steps: readonly StepRecord[],
): Promise<Map<string, Uint8Array | undefined>> {
	const keys = steps.flatMap(({ result }) => (result?.ref === undefined ? [] : [result.ref]));
	if (keys.length === 0) return new Map();
	const { blobs } = await runner.ask((store, partition) => store.readBlobs(partition, keys));
	return new Map(keys.map((key, n) => [key, blobs[n]]));
}

function resultOf({ result }: StepRecord, blobs: Map<string, Uint8Array | undefined>): Partial<StepView> {
	if (!result) return {};
	const value = inlineValue(result) ?? asValue(unpack(result, blobs.get(result.ref ?? "")));
	return "base64" in value ? { resultBase64: value.base64 } : { result: value.value };
}

function described({ name, index, number, attempt, recordedAt, durationMs, result, error }: StepRecord): RecordedStep {
	return {
		name,
		index,
		number,
		attempt,
		recordedAt,
		durationMs,
		size: result?.size ?? 0,
		...(error ? { error: { reason: error.reason, category: error.category } } : undefined),
	};
}
