import { FlowFabricError } from "../contract/errors.ts";
import { type CreateRequest, createRequest } from "../contract/executions.ts";
import { MAX_DELAY_MS } from "../contract/fields.ts";
import { checkDimensions } from "../contract/guards.ts";
import { checkTags } from "../contract/tags.ts";
import { capabilitySet } from "../contract/workers.ts";
import { makeId, slotOf } from "../kernel/ids.ts";
import { inputBlobKey, JSON_CONTENT } from "../kernel/payload.ts";
import { policyWithoutDefaults } from "../kernel/policy.ts";
import { clampPriority } from "../kernel/priority.ts";
import type { Amounts } from "../kernel/records/budget.ts";
import { idempotencySubject } from "../kernel/records/idempotency-key.ts";
import type { CreateCommand } from "../kernel/rules/create.ts";
import type { UuidMint } from "./mint.ts";
import { bodyHash, contentOf, pack } from "./payloads.ts";
import { namespaceFor } from "./scope.ts";

export interface SubmissionContext {
	mint: UuidMint;
	/** Where work goes that may live anywhere. */
	partition: number;
	partitions: number;
	/** The store's time, to tell a delay that lies absurdly far ahead. */
	now: number;
	actor: string;
	/** The namespace the caller is bound to, if it is. */
	scope: string | undefined;
	retentionMs: number;
	/** Where it must live: with its flow, or its parent. */
	slot?: number;
	/** Budgets that bind it besides its own, as those of its flow: it may reserve of them too. */
	boundBy?: readonly string[];
	/** Whether the hash of what was given is wanted, also without an idempotency key. */
	wantsHash?: boolean;
}

const NO_POLICY = Object.freeze({});

/** Turns a request into a command: everything is checked here, before anything is written. */
export function createCommand(request: unknown, context: SubmissionContext): CreateCommand {
	const given = createRequest.check(request);
	const { lane = "default", idempotencyKey, contentType, tags } = given;
	const namespace = namespaceFor(context.scope, given.namespace);
	if (tags) checkTags("tags", tags);
	checkDelay(given, context.now);
	const content = contentOf({ field: "input", value: given.input, base64: given.inputBase64, contentType });
	const { mint, partition, partitions } = context;
	const isKeyed = idempotencyKey !== undefined && idempotencyKey !== "";
	const uuid = isKeyed || context.slot !== undefined ? mint.next() : mint.nextIn(partition, partitions);
	const slot = context.slot ?? slotOf(isKeyed ? idempotencySubject(namespace, idempotencyKey) : uuid);
	const executionId = makeId("ex", uuid, slot);
	const { payload, blob } = pack(content, inputBlobKey(executionId));
	const command: CreateCommand = {
		op: "create",
		executionId,
		kind: given.kind,
		namespace,
		lane,
		priority: given.priority ?? 0,
		policy: (given.policy ?? NO_POLICY) as CreateCommand["policy"],
		input: payload,
		createdBy: given.createdBy ?? context.actor,
		retentionMs: context.retentionMs,
		actor: context.actor,
	};
	if (tags && Object.keys(tags).length > 0) command.tags = { ...tags };
	if (given.requiredCapabilities && given.requiredCapabilities.length > 0) {
		command.requiredCapabilities = capabilitySet(given.requiredCapabilities, "requiredCapabilities");
	}
	const budgets = idSet(given.budgets);
	const quotas = idSet(given.quotas);
	if (budgets) command.budgets = budgets;
	if (quotas) command.quotas = quotas;
	if (given.reserve) {
		const reserve = reservations(given.reserve, [...(budgets ?? []), ...(context.boundBy ?? [])]);
		if (reserve) command.reserve = reserve;
	}
	if (given.fairnessKey !== undefined) command.fairnessKey = given.fairnessKey;
	if (blob) command.inputBlob = blob;
	if (given.delayUntil !== undefined) command.delayUntil = given.delayUntil;
	if (given.delayMs !== undefined) command.delayMs = given.delayMs;
	if (given.traceparent !== undefined) command.traceparent = given.traceparent;
	if (idempotencyKey) command.idempotencyKey = idempotencyKey;
	if (idempotencyKey || context.wantsHash)
		command.bodyHash = bodyHash(bodyOf(given, command, content?.contentType), content);
	return command;
}

/**
 * Everything a create says but its key, its trace context and its input, which is hashed as bytes. What counts is what it
 * means: a default says the same as nothing, and a priority is what it is clamped to.
 */
function bodyOf(
	given: CreateRequest,
	command: CreateCommand,
	contentType = given.contentType,
): Record<string, unknown> {
	const { idempotencyKey: _key, traceparent: _trace, input: _input, inputBase64: _bytes, ...body } = given;
	const { namespace, lane, tags, requiredCapabilities, budgets, quotas, reserve, actor } = command;
	return {
		...body,
		namespace,
		lane,
		priority: clampPriority(command.priority) || undefined,
		tags,
		requiredCapabilities,
		budgets,
		quotas,
		reserve,
		delayMs: given.delayMs || undefined,
		policy: policyWithoutDefaults(command.policy),
		contentType: contentType === JSON_CONTENT ? undefined : contentType,
		createdBy: given.createdBy === actor ? undefined : given.createdBy,
	};
}

/** Sorted, each once; undefined for none. */
const idSet = (ids: readonly string[] | undefined): string[] | undefined =>
	ids && ids.length > 0 ? [...new Set(ids)].sort() : undefined;

/** It stands in the record, of which all else must have room too. */
const MAX_RESERVE_CHARS = 8192;

/** What is to be reserved of which budget, without what comes to nothing; undefined for nothing at all. */
function reservations(
	given: NonNullable<CreateRequest["reserve"]>,
	budgets: readonly string[],
): CreateCommand["reserve"] | undefined {
	const wanted: [budget: string, amounts: Amounts][] = [];
	for (const [budget, amounts] of Object.entries(given)) {
		if (!budgets.includes(budget))
			throw invalid("reserve", `must name budgets of this execution, got ${quoted(budget)}`);
		checkDimensions(`reserve.${budget}`, amounts);
		const some = Object.entries(amounts).filter(([, amount]) => amount > 0);
		if (some.length > 0) wanted.push([budget, Object.fromEntries(some)]);
	}
	if (wanted.length === 0) return undefined;
	const reserve = Object.fromEntries(wanted);
	if (JSON.stringify(reserve).length <= MAX_RESERVE_CHARS) return reserve;
	throw invalid("reserve", `must be at most ${MAX_RESERVE_CHARS} characters of JSON together`);
}

const quoted = (name: string): string => JSON.stringify(name.slice(0, 128));

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
