import type { Payload } from "../payload.ts";
import { quoted, quotedName } from "../quoted.ts";
import {
	type Attempt,
	type ExecutionRecord,
	executionDefaults,
	type LaterFields,
	type Lease,
	type LeaseEnd,
	makeExecution,
	noParts,
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
	if (record.budgets.length > 0) doc += `,"budgets":${JSON.stringify(record.budgets)}`;
	if (record.quotas.length > 0) doc += `,"quotas":${JSON.stringify(record.quotas)}`;
	if (record.reserve !== null) doc += `,"reserve":${JSON.stringify(record.reserve)}`;
	if (record.flowId !== "") doc += `,"flowId":${quoted(record.flowId)}`;
	if (record.member !== null) doc += `,"member":${JSON.stringify(record.member)}`;
	if (record.child !== null) doc += `,"child":${JSON.stringify(record.child)}`;
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
	if (record.blockedOn !== "") doc += `,"blockedOn":${quoted(record.blockedOn)}`;
	if (record.turn !== 0) doc += `,"turn":${record.turn}`;
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
	if (record.hold !== null) doc += `,"hold":${JSON.stringify(record.hold)}`;
	if (record.grant !== null) doc += `,"grant":${JSON.stringify(record.grant)}`;
	if (record.suspension !== null) doc += `,"suspension":${JSON.stringify(record.suspension)}`;
	if (record.kept !== null) doc += `,"kept":${JSON.stringify(record.kept)}`;
	if (record.parts !== null) doc += `,"parts":${JSON.stringify(record.parts)}`;
	if (record.progress !== null) doc += `,"progress":${JSON.stringify(record.progress)}`;
	if (record.failure !== null) doc += `,"failure":${JSON.stringify(record.failure)}`;
	if (record.cancel !== null) doc += `,"cancel":${JSON.stringify(record.cancel)}`;
	if (record.input !== null) doc += `,"input":${payloadText(record.input)}`;
	if (record.unknown !== null) doc += laterText(record.unknown);
	return `${doc}}`;
}

function laterText(fields: LaterFields): string {
	let text = "";
	for (const name in fields) text += `,${JSON.stringify(name)}:${JSON.stringify(fields[name])}`;
	return text;
}

function attemptText(attempt: Attempt): string {
	const { endedAt, usedMs, releases, isRevoked, failure, result } = attempt;
	let text = `{"index":${attempt.index},"type":"${attempt.type}","state":"${attempt.state}","workerId":${quotedName(attempt.workerId)},"instanceId":${quotedName(attempt.instanceId)},"startedAt":${attempt.startedAt}`;
	if (endedAt !== undefined) text += `,"endedAt":${endedAt}`;
	if (usedMs !== undefined) text += `,"usedMs":${usedMs}`;
	if (releases !== undefined) text += `,"releases":${releases}`;
	if (isRevoked !== undefined) text += `,"isRevoked":${isRevoked}`;
	if (failure !== undefined) text += `,"failure":${JSON.stringify(failure)}`;
	if (result !== undefined) text += `,"result":${payloadText(result)}`;
	if (attempt.unknown !== undefined) text += laterText(attempt.unknown);
	return `${text}}`;
}

function leaseText(lease: Lease, { attempt, epoch }: ExecutionRecord): string {
	let text = `{"id":"${lease.id}","ttlMs":${lease.ttlMs},"acquiredAt":${lease.acquiredAt},"expiresAt":${lease.expiresAt}`;
	if (lease.renewals !== undefined) text += `,"renewals":${lease.renewals}`;
	if (lease.breach !== undefined) text += `,"breach":${JSON.stringify(lease.breach)}`;
	if (lease.epoch !== epoch) text += `,"epoch":${lease.epoch}`;
	if (lease.workerId !== attempt?.workerId) text += `,"workerId":${quotedName(lease.workerId)}`;
	if (lease.instanceId !== attempt?.instanceId) text += `,"instanceId":${quotedName(lease.instanceId)}`;
	if (lease.unknown !== undefined) text += laterText(lease.unknown);
	return `${text}}`;
}

function leaseEndText({ id, epoch, by, outcome, breach, unknown }: LeaseEnd): string {
	let text = `{"id":"${id}","epoch":${epoch},"by":"${by}"`;
	if (outcome !== undefined) text += `,"outcome":${JSON.stringify(outcome)}`;
	if (breach !== undefined) text += `,"breach":${JSON.stringify(breach)}`;
	if (unknown !== undefined) text += laterText(unknown);
	return `${text}}`;
}

const payloadText = (payload: Payload): string =>
	isJsonAlone(payload) ? `{"size":${payload.size},"json":${payload.text}}` : JSON.stringify(payload);

/** Text without a type is JSON that was written here. With any other field beside it a payload is written as it is. */
function isJsonAlone(payload: Payload): boolean {
	for (const name in payload) if (name !== "size" && name !== "text") return false;
	return payload.text !== undefined;
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
	const { input, attempt, lease, lastLease, parts } = record;
	if (isObject(parts)) record.parts = { ...noParts, ...parts };
	if (isObject(input)) record.input = payloadOf(input);
	if (isObject(attempt)) {
		setApart(attempt, ATTEMPT_FIELDS);
		if (isObject(attempt.result)) attempt.result = payloadOf(attempt.result);
	}
	if (isObject(lease)) {
		setApart(lease, LEASE_FIELDS);
		record.lease = leaseOf(lease, record);
	}
	if (isObject(lastLease)) setApart(lastLease, LEASE_END_FIELDS);
	return record;
}

const fieldsOf = <T>(names: Record<keyof Omit<T, "unknown">, true>): ReadonlySet<string> => new Set(Object.keys(names));

const ATTEMPT_FIELDS = fieldsOf<Required<Attempt>>({
	index: true,
	type: true,
	state: true,
	workerId: true,
	instanceId: true,
	startedAt: true,
	endedAt: true,
	usedMs: true,
	releases: true,
	isRevoked: true,
	failure: true,
	result: true,
});

const LEASE_FIELDS = fieldsOf<Required<Lease>>({
	id: true,
	epoch: true,
	ttlMs: true,
	acquiredAt: true,
	expiresAt: true,
	workerId: true,
	instanceId: true,
	renewals: true,
	breach: true,
});

const LEASE_END_FIELDS = fieldsOf<Required<LeaseEnd>>({
	id: true,
	epoch: true,
	by: true,
	outcome: true,
	breach: true,
});

/** Moves what this version does not know into `unknown`, so that rules copy it whole; `part` was just parsed. */
function setApart(part: { unknown?: LaterFields }, known: ReadonlySet<string>): void {
	const fields = part as Record<string, unknown>;
	let later: Record<string, unknown> | undefined;
	for (const name in fields) if (!known.has(name)) (later ??= {})[name] = fields[name];
	if (!later) return;
	for (const name in later) delete fields[name];
	part.unknown = later;
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
