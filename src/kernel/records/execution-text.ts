import type { Payload } from "../payload.ts";
import { quoted, quotedName } from "../quoted.ts";
import {
	type Attempt,
	type ExecutionRecord,
	executionDefaults,
	type Lease,
	type LeaseEnd,
	makeExecution,
} from "./execution.ts";
import { parseDocument } from "./record.ts";
import { stateCode, stateOf } from "./state-code.ts";

/**
 * The document of an execution. It is written by hand, since there are several per execution and nothing costs more in
 * its life (both documents of a lifecycle: 13 µs by `JSON.stringify` of the record, 6 so). It is JSON, but for three
 * things that are filled in on reading it is what the record is:
 *
 * - the id is its key;
 * - `state` stands for the six fields of its state;
 * - a payload that is JSON is part of the document, as `json`, instead of text inside text; and a lease does not repeat
 *   what its attempt says.
 */

const DEFAULT_STATE = stateCode(executionDefaults);

export function encodeExecution(record: ExecutionRecord): string {
	const defaults = executionDefaults;
	const { attempt, lease, lastLease } = record;
	let doc = `{"kind":${quotedName(record.kind)},"createdAt":${record.createdAt},"events":${record.events}`;
	const state = stateCode(record);
	if (state !== DEFAULT_STATE) doc += `,"state":"${state}"`;
	if (record.namespace !== defaults.namespace) doc += `,"namespace":${quotedName(record.namespace)}`;
	if (record.lane !== defaults.lane) doc += `,"lane":${quotedName(record.lane)}`;
	if (record.priority !== 0) doc += `,"priority":${record.priority}`;
	if (record.agingMs !== defaults.agingMs) doc += `,"agingMs":${record.agingMs}`;
	if (record.requiredCapabilities !== defaults.requiredCapabilities)
		doc += `,"requiredCapabilities":[${record.requiredCapabilities.map(quoted).join(",")}]`;
	if (record.fairnessKey !== "") doc += `,"fairnessKey":${quoted(record.fairnessKey)}`;
	if (record.flowId !== "") doc += `,"flowId":${quoted(record.flowId)}`;
	if (record.tags !== defaults.tags) doc += `,"tags":${JSON.stringify(record.tags)}`;
	if (record.policy !== defaults.policy) doc += `,"policy":${JSON.stringify(record.policy)}`;
	if (record.idempotencyKey !== "") doc += `,"idempotencyKey":${quoted(record.idempotencyKey)}`;
	if (record.traceparent !== "") doc += `,"traceparent":${quoted(record.traceparent)}`;
	if (record.createdBy !== "") doc += `,"createdBy":${quotedName(record.createdBy)}`;
	if (record.retentionMs !== defaults.retentionMs) doc += `,"retentionMs":${record.retentionMs}`;
	if (record.blockingDetail !== "") doc += `,"blockingDetail":${quoted(record.blockingDetail)}`;
	if (record.blockedAt !== 0) doc += `,"blockedAt":${record.blockedAt}`;
	if (record.delayUntil !== 0) doc += `,"delayUntil":${record.delayUntil}`;
	if (record.eligibleAt !== 0) doc += `,"eligibleAt":${record.eligibleAt}`;
	if (record.deadlineFrom !== 0) doc += `,"deadlineFrom":${record.deadlineFrom}`;
	if (record.epoch !== 0) doc += `,"epoch":${record.epoch}`;
	if (record.retries !== 0) doc += `,"retries":${record.retries}`;
	if (record.reclaims !== 0) doc += `,"reclaims":${record.reclaims}`;
	if (record.replays !== 0) doc += `,"replays":${record.replays}`;
	if (record.startedAt !== 0) doc += `,"startedAt":${record.startedAt}`;
	if (record.completedAt !== 0) doc += `,"completedAt":${record.completedAt}`;
	if (record.removing) doc += ',"removing":true';
	if (attempt !== null) doc += `,"attempt":${attemptText(attempt)}`;
	if (lease !== null) doc += `,"lease":${leaseText(lease, record)}`;
	if (lastLease !== null) doc += `,"lastLease":${leaseEndText(lastLease)}`;
	if (record.grant !== null) doc += `,"grant":${JSON.stringify(record.grant)}`;
	if (record.progress !== null) doc += `,"progress":${JSON.stringify(record.progress)}`;
	if (record.failure !== null) doc += `,"failure":${JSON.stringify(record.failure)}`;
	if (record.cancel !== null) doc += `,"cancel":${JSON.stringify(record.cancel)}`;
	if (record.input !== null) doc += `,"input":${payloadText(record.input)}`;
	for (const name in record.unknown) doc += `,${JSON.stringify(name)}:${JSON.stringify(record.unknown[name])}`;
	return `${doc}}`;
}

function attemptText(attempt: Attempt): string {
	const { endedAt, usedMs, failure, result } = attempt;
	let text = `{"index":${attempt.index},"type":"${attempt.type}","state":"${attempt.state}","workerId":${quotedName(attempt.workerId)},"instanceId":${quotedName(attempt.instanceId)},"startedAt":${attempt.startedAt}`;
	if (endedAt !== undefined) text += `,"endedAt":${endedAt}`;
	if (usedMs !== undefined) text += `,"usedMs":${usedMs}`;
	if (failure !== undefined) text += `,"failure":${JSON.stringify(failure)}`;
	if (result !== undefined) text += `,"result":${payloadText(result)}`;
	return `${text}}`;
}

function leaseText(lease: Lease, { attempt, epoch }: ExecutionRecord): string {
	let text = `{"id":"${lease.id}","ttlMs":${lease.ttlMs},"acquiredAt":${lease.acquiredAt},"expiresAt":${lease.expiresAt}`;
	if (lease.renewals !== undefined) text += `,"renewals":${lease.renewals}`;
	if (lease.epoch !== epoch) text += `,"epoch":${lease.epoch}`;
	if (lease.workerId !== attempt?.workerId) text += `,"workerId":${quotedName(lease.workerId)}`;
	if (lease.instanceId !== attempt?.instanceId) text += `,"instanceId":${quotedName(lease.instanceId)}`;
	return `${text}}`;
}

function leaseEndText({ id, epoch, by, outcome }: LeaseEnd): string {
	const text = `{"id":"${id}","epoch":${epoch},"by":"${by}"`;
	return outcome === undefined ? `${text}}` : `${text},"outcome":${JSON.stringify(outcome)}}`;
}

/** Text without a type is JSON that was written here. */
function payloadText(payload: Payload): string {
	const { size, text, contentType, encoding } = payload;
	if (text === undefined || contentType !== undefined || encoding !== undefined) return JSON.stringify(payload);
	return `{"size":${size},"json":${text}}`;
}

export function decodeExecution(key: string, doc: string): ExecutionRecord {
	const stored = parseDocument(doc);
	const record = makeExecution({ id: key });
	const fields = record as unknown as Record<string, unknown>;
	let unknown: Record<string, unknown> | null = null;
	for (const name in stored) {
		if (name === "state") Object.assign(record, stateOf(String(stored[name])));
		else if (name in executionDefaults) fields[name] = stored[name];
		else (unknown ??= {})[name] = stored[name];
	}
	record.unknown = unknown;
	const { input, attempt, lease } = record;
	if (isObject(input)) record.input = payloadOf(input);
	if (isObject(attempt) && isObject(attempt.result)) record.attempt = { ...attempt, result: payloadOf(attempt.result) };
	if (isObject(lease)) record.lease = leaseOf(lease, record);
	return record;
}

/** What a lease leaves out its attempt says. */
const leaseOf = (lease: Partial<Lease>, { attempt, epoch }: ExecutionRecord): Lease =>
	Object.assign({ epoch, workerId: attempt?.workerId ?? "", instanceId: attempt?.instanceId ?? "" }, lease) as Lease;

function payloadOf(stored: Payload & { json?: unknown }): Payload {
	if (!("json" in stored)) return stored;
	const { json, ...payload } = stored;
	payload.text = JSON.stringify(json);
	return payload;
}

const isObject = <T extends object>(value: T | null | undefined): value is T =>
	typeof value === "object" && value !== null;
