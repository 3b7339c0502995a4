import { randomUUID } from "node:crypto";
import type { ClaimingHow, LeaseCalls } from "../contract/backend.ts";
import type { WorkerUsageRequest } from "../contract/budgets.ts";
import { type AddChildrenRequest, MAX_CHILDREN_PER_CALL, type WaitChildrenRequest } from "../contract/children.ts";
import { FlowFabricError } from "../contract/errors.ts";
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
} from "../contract/replies.ts";
import type { RecordStepRequest } from "../contract/steps.ts";
import type { AppendFramesRequest } from "../contract/streams.ts";
import type { CreateWaitpointRequest, SuspendRequest } from "../contract/waitpoints.ts";
import type * as protocol from "../contract/worker-protocol.ts";
import { MAX_JOINT_COMPLETES } from "../contract/worker-protocol.ts";
import type { PublicState } from "../kernel/state.ts";
import { bodyWith, jointBodies, plainBody } from "./bodies.ts";
import { countedOnce } from "./budgets.ts";
import { CompleteJoiner } from "./complete-joiner.ts";
import { pathOf } from "./executions.ts";
import { NoticeStream } from "./notice-stream.ts";
import type { Transport } from "./transport.ts";

/** A worker that stops does not wait long to hand back: its leases lapse anyway. */
const RELEASE_WITHIN_MS = 5000;

/** What children of one call may take: a body that brings work of a worker is small enough to be read as a whole. */
const CHILDREN_BYTES = 1024 * 1024;

/** The worker protocol over HTTP. What carries a fence may be sent twice: the second gives the first one's answer. */
export class RemoteLeases implements LeaseCalls {
	readonly #transport: Transport;
	readonly #completes: CompleteJoiner;
	readonly #streams = new Map<string, Set<NoticeStream>>();

	constructor(transport: Transport) {
		this.#transport = transport;
		this.#completes = new CompleteJoiner(transport);
	}

	/** Goes out once the instance's notices are listened to, so that nothing said about what it brings is missed. */
	async claim(request: protocol.ClaimRequest, signal?: AbortSignal, how?: ClaimingHow): Promise<ClaimedExecution[]> {
		for (const { ready } of this.#streams.get(request?.instanceId) ?? []) await unlessAborted(ready, signal);
		const answer = await this.#take<{ executions: ClaimedExecution[] }>("/v1/claims", request, signal, how);
		return answer?.executions ?? [];
	}

	async grant(request: protocol.GrantRequest, signal?: AbortSignal): Promise<GrantView | null> {
		const answer = await this.#take<{ grant: GrantView | null }>("/v1/grants", request, signal);
		return answer?.grant ?? null;
	}

	/**
	 * Under a request id a claim or a grant may be sent again when the answer was lost, and brings the same. Undefined when
	 * it was called off.
	 */
	async #take<T>(
		path: string,
		request: protocol.ClaimRequest | protocol.GrantRequest,
		signal: AbortSignal | undefined,
		how?: ClaimingHow,
	): Promise<T | undefined> {
		const unnamed = typeof request === "object" && request?.requestId === undefined;
		const body = plainBody(unnamed ? { ...request, requestId: randomUUID() } : request);
		if (signal?.aborted) return undefined;
		const waitMs = typeof request?.waitMs === "number" ? request.waitMs : 0;
		// Only an id made here was certainly never sent before.
		const numbered = unnamed ? ({ numbered: true } as const) : undefined;
		try {
			return await this.#transport.json<T>({
				method: "POST",
				path,
				body,
				repeat: "always",
				...numbered,
				waitMs,
				signal,
				onUnanswered: how?.onUnanswered,
			});
		} catch (error) {
			if (signal?.aborted) return undefined;
			throw error;
		}
	}

	async acceptGrant(grantId: string, request: protocol.AcceptGrantRequest): Promise<ClaimedExecution> {
		for (const { ready } of this.#streams.get(request?.instanceId) ?? []) await ready;
		const path = `/v1/grants/${encodeURIComponent(grantId)}/accept`;
		return this.#transport.json({ method: "POST", path, body: plainBody(request), repeat: "always" });
	}

	async renew(request: protocol.RenewRequest): Promise<RenewedLease[]> {
		const { leases } = await this.#transport.json<{ leases: RenewedLease[] }>({
			method: "POST",
			path: "/v1/leases/renew",
			body: plainBody(request),
			repeat: "always",
		});
		return leases;
	}

	async complete(id: string, request: protocol.CompleteRequest): Promise<{ publicState: PublicState }> {
		return this.#completes.complete(id, request);
	}

	async completeMany(items: (protocol.CompleteRequest & { executionId: string })[]): Promise<CompletedItem[]> {
		if (!Array.isArray(items) || items.length > MAX_JOINT_COMPLETES) return this.#completeSome(plainBody({ items }));
		const texts = items.map((item) => attempt(() => bodyWith("result", item)));
		const answers: CompletedItem[] = [];
		for (const body of jointBodies(texts.filter((text) => typeof text === "string"))) {
			for (const answer of await this.#completeSome(body)) answers.push(answer);
		}
		return texts.map((text, n) =>
			typeof text === "string" ? (answers.shift() as CompletedItem) : refusedItem(items[n]?.executionId, text),
		);
	}

	async #completeSome(body: string): Promise<CompletedItem[]> {
		const answer = await this.#transport.json<{ items: CompletedItem[] }>({
			method: "POST",
			path: "/v1/leases/complete",
			body,
			repeat: "always",
		});
		return answer.items;
	}

	fail(id: string, request: protocol.FailRequest): Promise<{ publicState: PublicState; retryAt?: number }> {
		return this.#fenced(id, "/fail", request);
	}

	delay(id: string, request: protocol.DelayRequest): Promise<{ publicState: PublicState; delayUntil?: number }> {
		return this.#fenced(id, "/delay", request);
	}

	release(id: string, request: protocol.ReleaseRequest): Promise<{ publicState: PublicState; delayUntil?: number }> {
		return this.#fenced(id, "/release", request, RELEASE_WITHIN_MS);
	}

	progress(id: string, request: protocol.ProgressRequest): Promise<{ percent?: number; message?: string }> {
		return this.#fenced(id, "/progress", request);
	}

	async recordStep(id: string, request: RecordStepRequest): Promise<RecordedStep> {
		const path = pathOf(id, "/steps");
		return this.#transport.json({ method: "POST", path, body: bodyWith("result", request), repeat: "always" });
	}

	usage(id: string, request: WorkerUsageRequest): Promise<UsageReply> {
		return this.#transport.json({ method: "POST", path: pathOf(id, "/usage"), ...countedOnce(request) });
	}

	/** Frames that have no sequence number would be kept twice. */
	async appendFrames(id: string, request: AppendFramesRequest): Promise<AppendedFrames> {
		const isNumbered = Array.isArray(request?.frames) && request.frames.every((frame) => frame?.seq !== undefined);
		return this.#transport.json({
			method: "POST",
			path: pathOf(id, "/frames"),
			body: plainBody(request),
			repeat: isNumbered ? "always" : "undone",
		});
	}

	suspend(id: string, request: SuspendRequest): Promise<SuspendReply> {
		return this.#fenced(id, "/suspend", request);
	}

	createWaitpoint(id: string, request: CreateWaitpointRequest): Promise<OpenedWaitpoint & { created: boolean }> {
		return this.#fenced(id, "/waitpoints", request);
	}

	/** A child is known by its key: sent again it is the same. */
	async addChildren(id: string, request: AddChildrenRequest): Promise<AddedChild[]> {
		const { items, ...rest } = request ?? {};
		if (!Array.isArray(items) || items.length === 0 || items.length > MAX_CHILDREN_PER_CALL)
			return this.#addSome(id, plainBody(request));
		const texts = items.map((item) => attempt(() => bodyWith("input", item)));
		const head = plainBody(rest).slice(1, -1);
		const sent = texts.filter((text) => typeof text === "string");
		const answers: AddedChild[] = [];
		for (const body of jointBodies(sent, head && `${head},`, CHILDREN_BYTES))
			for (const answer of await this.#addSome(id, body)) answers.push(answer);
		return texts.map((text, n) =>
			typeof text === "string" ? (answers.shift() as AddedChild) : refusedChild(items[n]?.key, text),
		);
	}

	async #addSome(id: string, body: string): Promise<AddedChild[]> {
		const path = pathOf(id, "/children");
		return (await this.#transport.json<{ items: AddedChild[] }>({ method: "POST", path, body, repeat: "always" }))
			.items;
	}

	waitChildren(id: string, request: WaitChildrenRequest): Promise<{ publicState: PublicState }> {
		return this.#fenced(id, "/wait-children", request);
	}

	notices(instanceId: string, listener: (notice: WorkerNotice) => void, onResumed?: () => void): () => void {
		const stream = new NoticeStream(this.#transport, instanceId, listener, onResumed);
		const streams = this.#streams.get(instanceId) ?? new Set();
		this.#streams.set(instanceId, streams.add(stream));
		return () => {
			stream.stop();
			streams.delete(stream);
			if (streams.size === 0 && this.#streams.get(instanceId) === streams) this.#streams.delete(instanceId);
		};
	}

	async #fenced<T>(id: string, path: string, request: unknown, withinMs?: number): Promise<T> {
		return this.#transport.json<T>({
			method: "POST",
			path: pathOf(id, path),
			body: plainBody(request),
			repeat: "always",
			...(withinMs === undefined ? undefined : { withinMs: Math.min(withinMs, this.#transport.timeoutMs) }),
		});
	}
}

/** Waits for something that never rejects, but no longer than until the signal aborts. */
function unlessAborted(ready: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
	if (!signal) return ready;
	if (signal.aborted) return Promise.resolve();
	return new Promise((resolve) => {
		const end = () => {
			signal.removeEventListener("abort", end);
			resolve();
		};
		signal.addEventListener("abort", end);
		void ready.then(end);
	});
}

function attempt(make: () => string): string | FlowFabricError {
	try {
		return make();
	} catch (error) {
		if (error instanceof FlowFabricError) return error;
		throw error;
	}
}

function refusedChild(key: string | undefined, error: FlowFabricError): AddedChild {
	const { code, message, retryable, details } = error;
	return { key: String(key), ok: false, error: { code, message, retryable, details } };
}

function refusedItem(executionId: string | undefined, error: FlowFabricError): CompletedItem {
	const { code, message, retryable, details } = error;
	return { executionId: String(executionId), ok: false, error: { code, message, retryable, details } };
}
