import type { FastifyReply, FastifyRequest } from "fastify";
import { workerUsageRequest } from "../../contract/budgets.ts";
import { childShape, MAX_CHILDREN_PER_CALL, waitChildrenRequest } from "../../contract/children.ts";
import { errorBody } from "../../contract/errors.ts";
import { fence } from "../../contract/fields.ts";
import { usage } from "../../contract/replies/budgets.ts";
import * as replies from "../../contract/replies/leases.ts";
import { publicState } from "../../contract/replies/parts.ts";
import { recordedStep } from "../../contract/replies/steps.ts";
import type { ClaimedExecution, CompletedItem } from "../../contract/replies.ts";
import { Type } from "../../contract/schema.ts";
import { recordStepRequest } from "../../contract/steps.ts";
import * as shapes from "../../contract/worker-protocol.ts";
import { refuseBorrowedName, tenantOf } from "../auth.ts";
import { BODY_LIMIT, FAIL_LIMIT, JOINT_LIMIT, RENEW_LIMIT } from "../bodies.ts";
import { type ClaimAnswer, claimAnswer } from "../claim-answers.ts";
import { answerJointly } from "../joint-bodies.ts";
import { ifUndelivered, PendingCall } from "../pending-call.ts";
import type { ServerContext } from "../server-context.ts";
import { Tail } from "../sse.ts";
import { JSON_TYPE, sendInTurns } from "../written-json.ts";
import { idOf, inArea, type Route } from "./route.ts";

const state = { publicState };

const completeManyBody = Type.Object(
	{ items: Type.Array(shapes.completeItem.schema, { maxItems: shapes.MAX_JOINT_COMPLETES }) },
	{ additionalProperties: false },
);

const childrenBody = Type.Object(
	{ fence: Type.Optional(fence), items: Type.Array(childShape, { maxItems: MAX_CHILDREN_PER_CALL }) },
	{ additionalProperties: false },
);

const waitInBody = ({ body }: FastifyRequest): unknown => (body as { waitMs?: unknown } | undefined)?.waitMs;

export function leaseRoutes(context: ServerContext): Route[] {
	return inArea("worker protocol", [
		{
			name: "POST /v1/claims",
			summary: "Claim work; waits up to waitMs for some",
			body: shapes.claimRequest.schema,
			bodyLimit: BODY_LIMIT,
			replies: { 200: Type.Object({ executions: Type.Array(replies.claimed) }) },
			waitMs: waitInBody,
			handle: (request, reply) => claim(context, request, reply),
		},
		{
			name: "POST /v1/grants",
			summary: "Reserve one execution for one worker without leasing it; null when there is none",
			body: shapes.grantRequest.schema,
			bodyLimit: BODY_LIMIT,
			replies: { 200: Type.Object({ grant: Type.Union([replies.grant, Type.Null()]) }) },
			waitMs: waitInBody,
			handle: (request, reply) => grant(context, request, reply),
		},
		{
			name: "POST /v1/grants/:id/accept",
			summary: "Turn a grant into a lease; a repeat by the same instance gives the same lease",
			body: shapes.acceptGrantRequest.schema,
			replies: { 200: replies.claimed },
			async handle(request, reply) {
				const { id } = request.params as { id: string };
				refuseBorrowedName(request, instanceIn(request.body));
				const claimed = await request.principal.backend.leases.acceptGrant(id, request.body as never);
				handBackIfUndelivered(context, request, reply, [claimed]);
				return sendInTurns(reply, claimed);
			},
		},
		{
			name: "POST /v1/leases/renew",
			summary: "Renew up to 1000 leases; answers per lease, with cancels and losses",
			body: shapes.renewRequest.schema,
			bodyLimit: RENEW_LIMIT,
			replies: { 200: Type.Object({ leases: Type.Array(replies.renewed) }) },
			handle: async ({ principal, body }) => ({ leases: await principal.backend.leases.renew(body as never) }),
		},
		{
			name: "POST /v1/leases/complete",
			summary: "Complete up to 1000 executions; each succeeds or fails on its own",
			body: completeManyBody,
			bodyLimit: JOINT_LIMIT,
			replies: { 200: Type.Object({ items: Type.Array(replies.completedItem) }) },
			async handle({ principal, body }) {
				const items = await answerJointly<CompletedItem>(body, {
					shape: shapes.completeManyRequest,
					most: shapes.MAX_JOINT_COMPLETES,
					answer: (group) => principal.backend.leases.completeMany(group as never),
					refuse: (error) => ({ executionId: "", ok: false, error: errorBody(error) }),
				});
				return { items };
			},
		},
		{
			name: "POST /v1/executions/:id/complete",
			summary: "Complete with a result",
			body: shapes.completeRequest.schema,
			bodyLimit: BODY_LIMIT,
			replies: { 200: Type.Object(state) },
			handle: (request) => request.principal.backend.leases.complete(idOf(request), request.body as never),
		},
		{
			name: "POST /v1/executions/:id/fail",
			summary: "Fail the attempt; the policy decides about a retry",
			body: shapes.failRequest.schema,
			bodyLimit: FAIL_LIMIT,
			replies: { 200: Type.Object({ ...state, retryAt: Type.Optional(Type.Integer()) }) },
			handle: (request) => request.principal.backend.leases.fail(idOf(request), request.body as never),
		},
		{
			name: "POST /v1/executions/:id/delay",
			summary: "Give the lease back; the same attempt continues later",
			body: shapes.delayRequest.schema,
			replies: { 200: Type.Object({ ...state, delayUntil: Type.Optional(Type.Integer()) }) },
			handle: (request) => request.principal.backend.leases.delay(idOf(request), request.body as never),
		},
		{
			name: "POST /v1/executions/:id/release",
			summary:
				"Hand the work back to its queue at once; from the eleventh time in a row, after a wait that doubles each time",
			body: shapes.releaseRequest.schema,
			replies: { 200: Type.Object({ ...state, delayUntil: Type.Optional(Type.Integer()) }) },
			handle: (request) => request.principal.backend.leases.release(idOf(request), request.body as never),
		},
		{
			name: "POST /v1/executions/:id/progress",
			summary: "Report progress; fields that are left out stay as they are",
			body: shapes.progressRequest.schema,
			replies: {
				200: Type.Object({ percent: Type.Optional(Type.Number()), message: Type.Optional(Type.String()) }),
			},
			handle: (request) => request.principal.backend.leases.progress(idOf(request), request.body as never),
		},
		{
			name: "POST /v1/executions/:id/steps",
			summary: "Record the result or error of a step; a result is final",
			body: recordStepRequest.schema,
			bodyLimit: BODY_LIMIT,
			replies: { 200: recordedStep },
			handle: (request) => request.principal.backend.leases.recordStep(idOf(request), request.body as never),
		},
		{
			name: "POST /v1/executions/:id/children",
			summary: "Submit up to 1000 children; each succeeds or fails on its own, and a repeated key gives the same child",
			body: childrenBody,
			bodyLimit: BODY_LIMIT,
			replies: { 200: Type.Object({ items: Type.Array(replies.addedChild) }) },
			async handle(request) {
				return { items: await request.principal.backend.leases.addChildren(idOf(request), request.body as never) };
			},
		},
		{
			name: "POST /v1/executions/:id/wait-children",
			summary: "Give the lease back until children have ended; then the same attempt continues",
			body: waitChildrenRequest.schema,
			replies: { 200: Type.Object(state) },
			handle: (request) => request.principal.backend.leases.waitChildren(idOf(request), request.body as never),
		},
		{
			name: "POST /v1/executions/:id/usage",
			summary: "Report usage of a budget by this execution; a report that exceeds a hard limit is not counted",
			body: workerUsageRequest.schema,
			replies: { 200: usage },
			handle: (request) => request.principal.backend.leases.usage(idOf(request), request.body as never),
		},
		{
			name: "GET /v1/workers/:instanceId/notices",
			summary: "An event stream of urgent notices about the work this instance holds",
			replies: { 200: replies.notice },
			streams: true,
			handle: (request, reply) => notices(context, request, reply),
		},
	]);
}

/** One nobody heard of lapses soon enough by itself. */
async function grant(context: ServerContext, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
	refuseBorrowedName(request, instanceIn(request.body));
	const { leases } = request.principal.backend;
	const body = request.body as { waitMs?: unknown } | undefined;
	const how = { isFirst: isFirstTry(request) };
	if (!body?.waitMs) return { grant: await leases.grant(body as never, undefined, how) };
	return { grant: await inPool(context, reply, (signal) => leases.grant(body as never, signal, how)) };
}

/** A call that waits for work; when it is called off there is none. */
async function inPool<T>(
	{ pools, waiting }: ServerContext,
	reply: FastifyReply,
	wait: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
	const place = pools.claims.take(tenantOf(reply.request));
	const call = new PendingCall(reply, waiting);
	place.makeRoom = () => call.end("crowded");
	try {
		return await wait(call.signal);
	} finally {
		call.leave();
		place.give();
	}
}

const instanceIn = (body: unknown): unknown => (body as { instanceId?: unknown } | null | undefined)?.instanceId;

const isFirstTry = ({ headers }: FastifyRequest): boolean => headers[shapes.TRY_HEADER] === "1";

async function claim(context: ServerContext, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
	refuseBorrowedName(request, instanceIn(request.body));
	const { log, metrics } = context;
	const { leases } = request.principal.backend;
	const body = request.body as { waitMs?: unknown } | undefined;
	let searched = { probed: 0, skipped: 0 };
	const how = {
		isFirst: isFirstTry(request),
		onSearched: (figures: typeof searched) => (searched = figures),
	};
	const began = performance.now();
	let executions: ClaimedExecution[] | undefined;
	try {
		if (!body?.waitMs) executions = await leases.claim(body as never, undefined, how);
		else executions = await inPool(context, reply, (signal) => leases.claim(body as never, signal, how));
	} finally {
		const ms = performance.now() - began;
		metrics.claim(!executions ? "refused" : executions.length > 0 ? "hit" : "empty", ms);
		if (log.isLevelEnabled("debug")) {
			const figures = { ...searched, hit: executions?.length ?? 0, ms: Math.round(ms) };
			log.debug({ requestId: request.id, ...figures }, "claim");
		}
	}
	if (executions.length === 0) return { executions };
	let written: ClaimAnswer;
	try {
		written = await claimAnswer(executions);
	} catch (error) {
		// The refusal will be delivered, and tells of none of them.
		handBack(context, request, executions, "the answer to a claim could not be written; its leases are handed back");
		throw error;
	}
	const { body: text, fitting } = written;
	handBackIfUndelivered(context, request, reply, executions.slice(0, fitting));
	const rest = executions.slice(fitting);
	if (rest.length > 0) handBack(context, request, rest, "leases that an answer has no room for are handed back");
	return reply.type(JSON_TYPE).send(text);
}

function handBackIfUndelivered(
	context: ServerContext,
	request: FastifyRequest,
	reply: FastifyReply,
	executions: readonly ClaimedExecution[],
): void {
	const why = "the answer to a claim could not be delivered; its leases are handed back";
	ifUndelivered(reply, () => handBack(context, request, executions, why));
}

/** Leases nobody heard of go back at once, which is not a reclaim: nobody has begun to work on them. */
function handBack(
	{ log }: ServerContext,
	request: FastifyRequest,
	executions: readonly ClaimedExecution[],
	why: string,
): void {
	const { leases } = request.principal.backend;
	log.info({ requestId: request.id, leases: executions.length }, why);
	const releases = executions.map(({ id, lease }) =>
		leases.release(id, { fence: { leaseId: lease.id, epoch: lease.epoch } }),
	);
	void Promise.allSettled(releases).then((results) => {
		const failed = results.filter((result) => result.status === "rejected");
		const [first] = failed;
		if (!first) return;
		const figures = { requestId: request.id, leases: failed.length, error: String(first.reason) };
		log.warn(figures, "leases could not be handed back; they will expire");
	});
}

async function notices(context: ServerContext, request: FastifyRequest, reply: FastifyReply): Promise<void> {
	const { instanceId } = request.params as { instanceId: string };
	const place = context.pools.notice_tails.take(tenantOf(request));
	const queued: unknown[] = [];
	let tail: Tail | undefined;
	// Listening begins before the reader is told that it does.
	const stop = request.principal.backend.leases.notices(instanceId, (notice) => {
		if (tail) tail.send(notice.type, notice);
		else queued.push(notice);
	});
	const open = new Tail(reply, context.tails);
	tail = open;
	place.makeRoom = () => open.yieldPlace();
	for (const notice of queued) tail.send((notice as { type: string }).type, notice);
	const { signal } = tail;
	if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve));
	stop();
	place.give();
}
