import { FlowFabricError } from "../contract/errors.ts";
import { type CreateRequest, createRequest } from "../contract/executions.ts";
import { MAX_DELAY_MS } from "../contract/fields.ts";
import { makeId, slotOf } from "../kernel/ids.ts";
import { inputBlobKey } from "../kernel/payload.ts";
import { idempotencySubject } from "../kernel/records/idempotency-key.ts";
import type { CreateCommand } from "../kernel/rules/create.ts";
import { bodyHash, contentOf, pack } from "./payloads.ts";

export interface SubmissionContext {
	uuid: string;
	/** The store's time, to tell a delay that lies absurdly far ahead. */
	now: number;
	actor: string;
	retentionMs: number;
}

/** Turns a request into a command: everything is checked here, before anything is written. */
export function createCommand(request: unknown, context: SubmissionContext): CreateCommand {
	const given = createRequest.check(request);
	const { namespace = "default", lane = "default", idempotencyKey, traceparent, input, inputBase64, ...rest } = given;
	checkDelay(given, context.now);
	const content = contentOf({ field: "input", value: input, base64: inputBase64, contentType: given.contentType });
	const slot = idempotencyKey ? slotOf(idempotencySubject(namespace, idempotencyKey)) : slotOf(context.uuid);
	const executionId = makeId("ex", context.uuid, slot);
	const { payload, blob } = pack(content, inputBlobKey(executionId));
	return {
		op: "create",
		executionId,
		kind: given.kind,
		namespace,
		lane,
		priority: given.priority ?? 0,
		policy: (given.policy ?? {}) as CreateCommand["policy"],
		input: payload,
		...(blob ? { inputBlob: blob } : undefined),
		...(given.delayUntil === undefined ? undefined : { delayUntil: given.delayUntil }),
		...(given.delayMs === undefined ? undefined : { delayMs: given.delayMs }),
		...(idempotencyKey ? { idempotencyKey, bodyHash: bodyHash({ ...rest, namespace, lane }, content) } : undefined),
		...(traceparent === undefined ? undefined : { traceparent }),
		createdBy: given.createdBy ?? context.actor,
		retentionMs: context.retentionMs,
		actor: context.actor,
	};
}

function checkDelay({ delayUntil, delayMs }: CreateRequest, now: number): void {
	if (delayUntil !== undefined && delayMs !== undefined) {
		throw invalid("delayUntil", "must not be given together with delayMs");
	}
	checkDelayUntil(delayUntil, now);
}

export function checkDelayUntil(delayUntil: number | undefined, now: number): void {
	if (delayUntil !== undefined && delayUntil > now + MAX_DELAY_MS) {
		throw invalid("delayUntil", "must be at most ten years ahead");
	}
}

function invalid(field: string, problem: string): FlowFabricError {
	return new FlowFabricError("invalid_input", { message: `${field}: ${problem}`, details: { field } });
}
