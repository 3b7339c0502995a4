import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { migrate } from "../../src/kernel/format.ts";
import { type ExecutionRecord, executionDefaults, makeExecution } from "../../src/kernel/records/execution.ts";
import { decodeExecution, encodeExecution } from "../../src/kernel/records/execution-text.ts";
import {
	ATTEMPT_STATES,
	BLOCKING_REASONS,
	ELIGIBILITY_STATES,
	LIFECYCLE_PHASES,
	OWNERSHIP_STATES,
	TERMINAL_OUTCOMES,
} from "../../src/kernel/state.ts";
import { lostLaterFields, withLaterFields } from "../later-fields.ts";

const id = `ex_${"1".repeat(32)}_7`;
const text = fc.string({ unit: "binary", maxLength: 20 });
const time = fc.integer({ min: 0, max: 2 ** 45 });
const some = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
/** With optional fields left out, as rules leave them out. */
const without = <T extends object>(value: fc.Arbitrary<T>) =>
	value.map((given) => Object.fromEntries(Object.entries(given).filter(([, field]) => field !== undefined)) as T);

/** Fields of a later version. */
const later = fc.dictionary(
	text.map((name) => `later ${name}`),
	fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value))),
	{ minKeys: 1, noNullPrototype: true },
);

const payload = fc.oneof(
	fc.tuple(fc.jsonValue(), later).map(([value, fields]) => {
		const json = JSON.stringify(value);
		return { size: Buffer.byteLength(json), text: json, ...fields };
	}),
	fc.jsonValue().map((value) => {
		const json = JSON.stringify(value);
		return { size: Buffer.byteLength(json), text: json };
	}),
	without(
		fc.record({
			size: fc.nat(),
			contentType: fc.constantFrom("text/plain", "application/x+json"),
			encoding: some(text),
			text: some(text),
			base64: some(fc.base64String()),
			ref: some(text),
		}),
	),
);
const failure = fc.record({ reason: text, category: text });
const attempt = without(
	fc.record({
		index: fc.nat(),
		type: fc.constantFrom("initial", "retry", "reclaim", "replay"),
		state: fc.constantFrom("started", "ended_success", "interrupted_reclaimed"),
		workerId: text,
		instanceId: text,
		startedAt: time,
		endedAt: some(time),
		usedMs: some(time),
		isRevoked: some(fc.constant(true as const)),
		failure: some(failure),
		result: some(payload),
		unknown: some(later),
	}),
);
const breach = fc.record({ budget: text, dimension: text, action: fc.constantFrom("block", "fail") });
const lease = without(
	fc.record({
		id: fc.constant("le_x"),
		epoch: fc.nat(),
		ttlMs: time,
		acquiredAt: time,
		expiresAt: time,
		workerId: text,
		instanceId: text,
		renewals: some(fc.nat()),
		breach: some(breach),
		unknown: some(later),
	}),
);
const fields = fc.record({
	id: fc.constant(id),
	kind: text,
	namespace: fc.oneof(fc.constant("default"), text),
	lane: fc.oneof(fc.constant("default"), text),
	priority: fc.integer({ min: -1000, max: 1000 }),
	agingMs: fc.constantFrom(1, 5000, 1e12),
	requiredCapabilities: fc.oneof(fc.constant(executionDefaults.requiredCapabilities), fc.array(text, { minLength: 1 })),
	fairnessKey: text,
	budgets: fc.oneof(fc.constant(executionDefaults.budgets), fc.array(text, { minLength: 1 })),
	quotas: fc.oneof(fc.constant(executionDefaults.quotas), fc.array(text, { minLength: 1 })),
	reserve: fc.option(fc.constant({ b: { tokens: 5 } })),
	flowId: text,
	tags: fc.oneof(fc.constant(executionDefaults.tags), fc.dictionary(text, text)),
	policy: fc.oneof(fc.constant(executionDefaults.policy), fc.constant({ maxRetries: 3 })),
	input: fc.option(payload),
	idempotencyKey: text,
	traceparent: text,
	createdBy: text,
	createdAt: time,
	retentionMs: time,
	lifecyclePhase: fc.constantFrom(...LIFECYCLE_PHASES),
	ownershipState: fc.constantFrom(...OWNERSHIP_STATES),
	eligibilityState: fc.constantFrom(...ELIGIBILITY_STATES),
	blockingReason: fc.constantFrom(...BLOCKING_REASONS),
	terminalOutcome: fc.constantFrom(...TERMINAL_OUTCOMES),
	attemptState: fc.constantFrom(...ATTEMPT_STATES),
	blockingDetail: text,
	blockedAt: time,
	delayUntil: time,
	eligibleAt: time,
	deadlineFrom: time,
	blockedOn: text,
	turn: time,
	hold: fc.option(fc.record({ id: text, until: time, admittedAt: time })),
	attempt: fc.option(attempt),
	grant: fc.option(fc.record({ id: text, expiresAt: time, workerId: text, instanceId: text })),
	lease: fc.option(lease),
	lastLease: fc.option(
		without(
			fc.record({
				id: fc.constant("le_y"),
				epoch: fc.nat(),
				by: fc.constantFrom("complete", "expired"),
				outcome: some(fc.dictionary(text, fc.string())),
				breach: some(breach),
				unknown: some(later),
			}),
		),
	),
	epoch: fc.nat(),
	suspension: fc.option(
		without(fc.record({ number: fc.nat(), id: text, since: time, timeoutAt: some(time), budget: some(text) })),
	),
	child: fc.option(
		without(fc.record({ parentId: text, key: text, number: fc.nat(), isLeft: some(fc.constant(true)) })),
	),
	member: fc.option(without(fc.record({ key: text, number: fc.nat(), hasLinks: some(fc.constant(true)) }))),
	kept: fc.option(fc.record({ holdId: text, quotas: fc.array(text), since: time })),
	parts: fc.option(
		fc.record({
			generation: fc.nat(),
			suspensions: fc.nat(),
			waitpoints: fc.nat(),
			signals: fc.nat(),
			signalsBefore: fc.nat(),
			streams: fc.nat(),
			steps: fc.nat(),
			stepBytes: fc.nat(),
		}),
	),
	retries: fc.nat(),
	reclaims: fc.nat(),
	replays: fc.nat(),
	progress: fc.option(without(fc.record({ percent: some(fc.nat()), message: some(text) }))),
	failure: fc.option(failure),
	cancel: fc.option(without(fc.record({ source: fc.constant("operator"), requestedAt: time, reason: some(text) }))),
	startedAt: time,
	completedAt: time,
	events: fc.nat(),
	removing: fc.boolean(),
	unknown: fc.option(later),
}) as fc.Arbitrary<Partial<ExecutionRecord>>;

/** With the fields of a later version among the others. */
const flat = <T extends { unknown?: object | null }>({ unknown, ...part }: T) => ({ ...part, ...unknown });

describe("the document of an execution", () => {
	it("gives back every field of every record, none forgotten", () => {
		fc.assert(
			fc.property(fields, (given) => {
				expect(Object.keys(given).sort()).toEqual(Object.keys(executionDefaults).sort());
				const record = makeExecution(given);
				expect(decodeExecution(id, encodeExecution(record))).toEqual(record);
			}),
			{ numRuns: 2000 },
		);
	});

	it("that an earlier version wrote as plain JSON reads the same, and is migrated to the same", () => {
		fc.assert(
			fc.property(fields, (given) => {
				const record = makeExecution(given);
				const before = JSON.stringify({
					...flat(record),
					attempt: record.attempt && flat(record.attempt),
					lease: record.lease && flat(record.lease),
					lastLease: record.lastLease && flat(record.lastLease),
				});
				for (const doc of [before, migrate(2, id, before)]) expect(decodeExecution(id, doc)).toEqual(record);
			}),
		);
	});

	it("keeps the fields of a later version where they stood, in every part of it", () => {
		const written = withLaterFields(
			encodeExecution(
				makeExecution({
					id,
					kind: "job",
					epoch: 2,
					input: { size: 2, text: "{}" },
					attempt: {
						...{ index: 1, type: "retry", state: "started", workerId: "w", instanceId: "w-1", startedAt: 5 },
						...{ failure: { reason: "r", category: "c" }, result: { size: 1, text: "7" } },
					},
					lease: {
						...{ id: "le_x", epoch: 2, ttlMs: 9, acquiredAt: 5, expiresAt: 14, workerId: "w", instanceId: "w-1" },
					},
					lastLease: { id: "le_w", epoch: 1, by: "expired" },
					grant: { id: "gr_x", expiresAt: 5, workerId: "w", instanceId: "w-1" },
					cancel: { source: "operator", requestedAt: 3 },
					progress: { percent: 4 },
				}),
			),
		);
		const rewritten = encodeExecution(decodeExecution(id, written));
		expect(lostLaterFields(written, rewritten)).toEqual([]);
		expect(rewritten.match(/fromLaterVersion/g)).toHaveLength(10);
	});

	it("that cannot be read is left as it is", () => {
		expect(migrate(2, id, "{broken")).toBe("{broken");
	});

	it("is not much longer than what it says", () => {
		const input = { size: 9, text: '{"a":"b"}' };
		expect(encodeExecution(makeExecution({ id, kind: "job", createdAt: 1, createdBy: "me", input, events: 1 }))).toBe(
			'{"kind":"job","createdAt":1,"events":1,"createdBy":"me","input":{"size":9,"json":{"a":"b"}}}',
		);
	});
});
