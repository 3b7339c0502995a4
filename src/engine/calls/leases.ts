import type { ClaimingHow, LeaseCalls } from "../../contract/backend.ts";
import { type WorkerUsageRequest, workerUsageRequest } from "../../contract/budgets.ts";
import type { AddChildrenRequest, WaitChildrenRequest } from "../../contract/children.ts";
import { within } from "../../contract/clock.ts";
import { readCondition } from "../../contract/conditions.ts";
import { errorBody, FlowFabricError } from "../../contract/errors.ts";
import { checkDimensions } from "../../contract/guards.ts";
import { slotOfGivenId } from "../../contract/ids.ts";
import type {
	AddedChild,
	AppendedFrames,
	ClaimedExecution,
	CompletedItem,
	GrantView,
	OpenedWaitpoint,
	RecordedStep,
	RenewedLease,
	SuspendReply,
	UsageReply,
	WorkerNotice,
} from "../../contract/replies.ts";
import type { RecordStepRequest } from "../../contract/steps.ts";
import { type AppendFramesRequest, appendFramesRequest } from "../../contract/streams.ts";
import {
	type CreateWaitpointRequest,
	checkWaitpointKey,
	createWaitpointRequest,
	type SuspendRequest,
	suspendRequest,
} from "../../contract/waitpoints.ts";
import * as protocol from "../../contract/worker-protocol.ts";
import { capabilitySet } from "../../contract/workers.ts";
import type { CommandOf } from "../../kernel/kernel.ts";
import type { Offer } from "../../kernel/matching.ts";
import { resultBlobKey } from "../../kernel/payload.ts";
import type { ExecutionRecord } from "../../kernel/records/execution.ts";
import type { PublicState } from "../../kernel/state.ts";
import { mapInSlices } from "../bounded.ts";
import { awaitedChildren } from "../children/families.ts";
import type { Claim } from "../claims/claim-dispatcher.ts";
import { sameOffer } from "../claims/offers.ts";
import { grantView } from "../claims/request-kinds.ts";
import { parentsOf } from "../flows/parents.ts";
import { PARTITION_PATIENCE_MS } from "../partition/store-line.ts";
import { shareOfMany } from "../partition/waiting-commands.ts";
import { asValue, bodyHash, contentOf, inlineValue, pack } from "../payloads.ts";
import { signalsOf, signalsOfLast } from "../reading/signals.ts";
import { claimedView } from "../reading/views.ts";
import { withTokens } from "../reading/waitpoints.ts";
import { givenFrames } from "../streams/given-frame.ts";
import { checkDelayUntil } from "../submission.ts";
import { reportUsage } from "./budgets.ts";
import { addChildren, waitChildren } from "./children.ts";
import type { Session } from "./session.ts";
import { recordStep } from "./steps.ts";

const DEFAULT_LEASE_MS = 30_000;
/** Bytes of inputs inside their records that are read in one go. */
const INLINE_AT_ONCE = 256 * 1024;

const offerOf = (kinds: readonly string[] | undefined, capabilities: readonly string[] | undefined): Offer =>
	sameOffer({ kinds, capabilities: capabilities ? capabilitySet(capabilities) : [] });

const MOST_ECHOED = 64;

/** The id an item names, though it may be none, for whoever reads the answer. */
function namedIn(item: unknown): string {
	const { executionId } = (item ?? {}) as { executionId?: unknown };
	return typeof executionId === "string" ? executionId.slice(0, MOST_ECHOED) : "";
}

function detailBytes(detail: string): Uint8Array {
	const bytes = Buffer.from(detail);
	if (bytes.byteLength <= protocol.MAX_DETAIL_BYTES) return bytes;
	throw new FlowFabricError("invalid_input", {
		message: `detail: ${protocol.DETAIL_ALLOWED}, got ${bytes.byteLength}`,
		details: { field: "detail" },
	});
}

/** The worker protocol on an engine in this process. */
export class LocalLeases implements LeaseCalls {
	readonly #session: Session;

	constructor(session: Session) {
		this.#session = session;
	}

	async claim(request: protocol.ClaimRequest, signal?: AbortSignal, how?: ClaimingHow): Promise<ClaimedExecution[]> {
		const {
			lanes = ["default"],
			max = 1,
			leaseMs = DEFAULT_LEASE_MS,
			waitMs = 0,
			...who
		} = protocol.claimRequest.check(request);
		const namespace = this.#session.namespaceFor(who.namespace);
		this.#session.engine.refuseIfClosed();
		const { kinds, workerId, instanceId, requestId } = who;
		const offer = offerOf(kinds, who.capabilities);
		const claim: Claim = { namespace, lanes, offer, max, leaseMs, waitMs, workerId, instanceId };
		if (how?.onSearched) claim.onSearched = how.onSearched;
		const { dispatcher, claimRequests } = this.#session.engine;
		const records = await this.#withHeartbeat(claim, () =>
			requestId === undefined
				? dispatcher.claim(claim, signal)
				: claimRequests.claim(claim, requestId, signal, how?.isFirst === true),
		);
		const inline = records.reduce((bytes, { input }) => bytes + (input?.ref === undefined ? (input?.size ?? 0) : 0), 0);
		const isMuch = inline > INLINE_AT_ONCE;
		const views = records.map((record) => this.#claimed(record, isMuch));
		if (!views.some((view) => view instanceof Promise)) return views as ClaimedExecution[];
		// Whoever can repeat the claim is given all of it then.
		return requestId === undefined ? this.#readable(records, views) : Promise.all(views);
	}

	/**
	 * Work whose input cannot be read just now goes back at once: its caller would not know of the lease. What nobody will
	 * ever read keeps it until it lapses: back at the head of its queue it would hide what stands behind.
	 */
	async #readable(
		records: readonly ExecutionRecord[],
		views: readonly (ClaimedExecution | Promise<ClaimedExecution>)[],
	): Promise<ClaimedExecution[]> {
		const results = await Promise.allSettled(views);
		const readable = results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
		const failures = results.flatMap((result, n) =>
			result.status === "rejected" ? [{ record: records[n] as ExecutionRecord, error: result.reason as unknown }] : [],
		);
		const passing = failures.filter(({ error }) => error instanceof FlowFabricError && error.retryable);
		await Promise.all(passing.map(({ record }) => this.#giveBack(record)));
		if (readable.length === 0 && failures[0]) throw failures[0].error;
		return readable;
	}

	/** If it cannot be, its lease lapses. */
	async #giveBack({ id, lease }: ExecutionRecord): Promise<void> {
		if (lease) await this.release(id, { fence: { leaseId: lease.id, epoch: lease.epoch } }).catch(() => {});
	}

	async grant(request: protocol.GrantRequest, signal?: AbortSignal, how?: ClaimingHow): Promise<GrantView | null> {
		const given = protocol.grantRequest.check(request);
		const { lanes = ["default"], waitMs = 0, workerId, instanceId, grantTtlMs, requestId } = given;
		const namespace = this.#session.namespaceFor(given.namespace);
		this.#session.engine.refuseIfClosed();
		const offer = offerOf(given.kinds, given.capabilities);
		const claim = { namespace, lanes, offer, max: 1, leaseMs: 0, waitMs, workerId, instanceId, grantTtlMs };
		const { dispatcher, grantRequests } = this.#session.engine;
		const [granted] = await this.#withHeartbeat(claim, async () =>
			requestId === undefined
				? (await dispatcher.claim(claim, signal)).map(grantView)
				: grantRequests.claim(claim, requestId, signal, how?.isFirst === true),
		);
		return granted ?? null;
	}

	async acceptGrant(grantId: string, request: protocol.AcceptGrantRequest): Promise<ClaimedExecution> {
		const slot = slotOfGivenId("gr", grantId, "grantId");
		const { instanceId, leaseMs = DEFAULT_LEASE_MS } = protocol.acceptGrantRequest.check(request);
		const { engine, caller } = this.#session;
		const { execution } = await this.#session.runOn(engine.runnerOfSlot(slot), "acceptGrant", {
			op: "acceptGrant",
			grantId,
			...(caller.namespace === undefined ? undefined : { namespace: caller.namespace }),
			instanceId,
			leaseUuid: engine.mint.next(),
			leaseMs,
			actor: instanceId,
		});
		return this.#claimed(execution);
	}

	async renew(request: protocol.RenewRequest): Promise<RenewedLease[]> {
		const { leases, leaseMs } = protocol.renewRequest.check(request);
		const ofMany = shareOfMany(leases.length);
		return mapInSlices(
			leases,
			this.#session.engine.clock,
			async ({ executionId, leaseId, epoch }): Promise<RenewedLease> => {
				try {
					const command: CommandOf<"renew"> = { op: "renew", executionId, fence: { leaseId, epoch } };
					if (leaseMs !== undefined) command.leaseMs = leaseMs;
					const { ok, expiresAt, holder, ...told } = await this.#session.run("renew", command, ofMany);
					this.#session.engine.heartbeats.renewed(holder.namespace, holder.instanceId);
					return { executionId, ok, expiresAt, ...told };
				} catch (error) {
					const body = errorBody(error);
					const { budgetBreach } = (body.details ?? {}) as Pick<RenewedLease, "budgetBreach">;
					return { executionId, ok: false, error: body, ...(budgetBreach ? { budgetBreach } : undefined) };
				}
			},
		);
	}

	async complete(id: string, request: protocol.CompleteRequest) {
		return this.#complete(id, protocol.completeRequest.check(request), 0);
	}

	async completeMany(items: (protocol.CompleteRequest & { executionId: string })[]): Promise<CompletedItem[]> {
		protocol.completeManyRequest.check({ items });
		const ofMany = shareOfMany(items.length);
		return mapInSlices(items, this.#session.engine.clock, async (item): Promise<CompletedItem> => {
			try {
				const { executionId, ...request } = protocol.completeItem.check(item);
				return { executionId, ok: true, ...(await this.#complete(executionId, request, ofMany)) };
			} catch (error) {
				return { executionId: namedIn(item), ok: false, error: errorBody(error) };
			}
		});
	}

	async #complete(id: string, given: protocol.CompleteRequest, ofMany: number) {
		const content = contentOf({
			field: "result",
			value: given.result,
			base64: given.resultBase64,
			contentType: given.contentType,
		});
		const { payload, blob } = pack(content, resultBlobKey(id, given.fence?.epoch ?? 0));
		const command: CommandOf<"complete"> = { op: "complete", executionId: id, result: payload };
		if (given.fence) command.fence = given.fence;
		if (blob) command.resultBlob = blob;
		const { publicState } = await this.#session.run("complete", command, ofMany);
		return { publicState };
	}

	async fail(id: string, request: protocol.FailRequest) {
		const {
			category = "error",
			detail = "",
			...given
		} = protocol.failRequest.check(request) as Required<protocol.FailRequest>;
		const { ok: _, ...reply } = await this.#session.run("fail", {
			op: "fail",
			executionId: id,
			category,
			...given,
			...(detail === "" ? undefined : { detail: detailBytes(detail) }),
			jitter: this.#session.engine.random(),
		});
		return reply;
	}

	async delay(id: string, request: protocol.DelayRequest) {
		const given = protocol.delayRequest.check(request) as Required<protocol.DelayRequest>;
		if ((given.delayMs === undefined) === (given.delayUntil === undefined)) {
			throw new FlowFabricError("invalid_input", {
				message: "delayMs: exactly one of delayMs and delayUntil is required",
				details: { field: "delayMs" },
			});
		}
		const runner = this.#session.runnerOf(id);
		checkDelayUntil(given.delayUntil, runner.time.now());
		const { ok: _, ...reply } = await this.#session.run("delay", { op: "delay", executionId: id, ...given });
		return reply;
	}

	async release(id: string, request: protocol.ReleaseRequest) {
		const given = protocol.releaseRequest.check(request) as Required<protocol.ReleaseRequest>;
		const { ok: _, ...reply } = await this.#session.run("release", { op: "release", executionId: id, ...given });
		return reply;
	}

	async progress(id: string, request: protocol.ProgressRequest) {
		const { fence, ...progress } = protocol.progressRequest.check(request) as Required<protocol.ProgressRequest>;
		const outcome = await this.#session.run("progress", {
			op: "progress",
			executionId: id,
			...(fence ? { fence } : undefined),
			progress,
		});
		return outcome.progress;
	}

	recordStep(id: string, request: RecordStepRequest): Promise<RecordedStep> {
		return recordStep(this.#session, id, request);
	}

	/** The fence is checked where the execution lives, the report made where the budget does. */
	async usage(id: string, request: WorkerUsageRequest): Promise<UsageReply> {
		const { fence, budget, dims, dedupKey } = workerUsageRequest.check(request);
		checkDimensions("dims", dims);
		const { namespace } = await this.#session.run("checkFence", {
			op: "checkFence",
			executionId: id,
			...(fence ? { fence } : undefined),
		});
		return reportUsage(this.#session, { kind: "budget", namespace, id: budget }, dims, id, dedupKey);
	}

	async suspend(id: string, request: SuspendRequest): Promise<SuspendReply> {
		const { condition, waitpoints = [], fence, ...given } = suspendRequest.check(request);
		if (given.timeoutAt !== undefined && given.timeoutMs !== undefined) {
			throw new FlowFabricError("invalid_input", {
				message: "timeoutMs: must not be given together with timeoutAt",
				details: { field: "timeoutMs" },
			});
		}
		for (const [n, { key }] of waitpoints.entries()) checkWaitpointKey(`waitpoints[${n}].key`, key);
		const read = readCondition(condition);
		const said = { ...given, condition: read, waitpoints };
		const outcome = await this.#session.run("suspend", {
			op: "suspend",
			executionId: id,
			...(given as Required<typeof given>),
			...(fence ? { fence } : undefined),
			condition: read,
			waitpoints: waitpoints as Required<(typeof waitpoints)[number]>[],
			digest: bodyHash(said, undefined),
			uuids: Array.from({ length: 1 + waitpoints.length }, () => this.#session.engine.mint.next()),
		});
		if (outcome.status === "cancelled") return { status: "cancelled", waitpoints: [] };
		const { status, suspensionId, number } = outcome;
		const opened = await withTokens(this.#session, id, outcome.waitpoints);
		if (status === "suspended") return { status, suspensionId, waitpoints: opened };
		return { status, suspensionId, waitpoints: opened, signals: await signalsOf(this.#session, id, number) };
	}

	async createWaitpoint(id: string, request: CreateWaitpointRequest) {
		const { fence, key, expiresMs } = createWaitpointRequest.check(request);
		checkWaitpointKey("key", key);
		const { waitpoint, created } = await this.#session.run("createWaitpoint", {
			op: "createWaitpoint",
			executionId: id,
			...(fence ? { fence } : undefined),
			key,
			...(expiresMs === undefined ? undefined : { expiresMs }),
			uuid: this.#session.engine.mint.next(),
		});
		const [opened] = await withTokens(this.#session, id, [waitpoint]);
		return { ...(opened as OpenedWaitpoint), created };
	}

	addChildren(id: string, request: AddChildrenRequest): Promise<AddedChild[]> {
		return addChildren(this.#session, id, request);
	}

	waitChildren(id: string, request: WaitChildrenRequest): Promise<{ publicState: PublicState }> {
		return waitChildren(this.#session, id, request);
	}

	async appendFrames(id: string, request: AppendFramesRequest): Promise<AppendedFrames> {
		const { fence, frames } = appendFramesRequest.check(request);
		const { lastId, frameCount, summaryVersion } = await this.#session.run("appendFrames", {
			op: "appendFrames",
			executionId: id,
			...(fence ? { fence } : undefined),
			frames: givenFrames(frames),
		});
		return { lastId, frameCount, ...(summaryVersion === undefined ? undefined : { summaryVersion }) };
	}

	notices(instanceId: string, listener: (notice: WorkerNotice) => void): () => void {
		return this.#session.notices.listen(instanceId, listener, this.#session.caller.namespace);
	}

	/** Whoever claims is there; what waited for somebody like that is released before its claim looks for work. */
	async #withHeartbeat<T>(
		{ namespace, instanceId, workerId, lanes, offer }: Claim,
		claim: () => Promise<T>,
	): Promise<T> {
		const { capabilities, kinds } = offer;
		const worker = { namespace, instanceId, workerId, lanes, capabilities, kinds: kinds ?? null };
		const { arrival, leave } = this.#session.engine.heartbeats.enter(worker);
		try {
			if (arrival) await within(this.#session.engine.clock, PARTITION_PATIENCE_MS, arrival);
			return await claim();
		} finally {
			leave();
		}
	}

	/** Most inputs are inside their record; only one kept apart has to be waited for. */
	#claimed(record: ExecutionRecord, inTurns = false): ClaimedExecution | Promise<ClaimedExecution> {
		const view = this.#withInput(record, inTurns);
		const hasParents = record.member?.hasParents === true;
		return record.parts === null && !hasParents ? view : this.#withMore(record, view, hasParents);
	}

	async #withMore(
		record: ExecutionRecord,
		view: ClaimedExecution | Promise<ClaimedExecution>,
		hasParents: boolean,
	): Promise<ClaimedExecution> {
		const [claimed, signals, parents, children] = await Promise.all([
			view,
			record.parts ? signalsOfLast(this.#session, record) : [],
			hasParents ? parentsOf(this.#session, record) : undefined,
			record.parts?.joined ? awaitedChildren(this.#session, record) : undefined,
		]);
		return {
			...claimed,
			signals,
			...(parents ? { parents } : undefined),
			...(children ? { children } : undefined),
		};
	}

	#withInput(record: ExecutionRecord, inTurns: boolean): ClaimedExecution | Promise<ClaimedExecution> {
		const { id, input } = record;
		if (!input) return claimedView(record, undefined);
		const inline = inTurns ? undefined : inlineValue(input);
		if (inline) return claimedView(record, inline);
		return this.#session.bytes(id, input).then(async (bytes) => {
			await this.#session.engine.ownTurns.before(input.size);
			return claimedView(record, asValue(bytes));
		});
	}
}
