import type { WaitpointCalls } from "../../contract/backend.ts";
import { patchBudgetRequest } from "../../contract/budgets.ts";
import { isJson } from "../../contract/content-types.ts";
import { FlowFabricError } from "../../contract/errors.ts";
import { DEFAULT_LIMIT } from "../../contract/fields.ts";
import { slotOfGivenId } from "../../contract/ids.ts";
import type {
	InboxPage,
	ResumeReply,
	SignalPage,
	SignalReply,
	WaitpointPage,
	WaitpointToken,
} from "../../contract/replies.ts";
import * as shapes from "../../contract/waitpoints.ts";
import { slotOfId } from "../../kernel/ids.ts";
import { signalBlobKey } from "../../kernel/payload.ts";
import { partsOf } from "../../kernel/records/execution.ts";
import type { WaitpointRecord } from "../../kernel/records/waitpoint.ts";
import type { SignalContent } from "../../kernel/rules/signal.ts";
import { budgetOfWaitpoint, budgetWaitpoint } from "../../kernel/suspension/budget-waitpoint.ts";
import { BUDGET_APPROVE } from "../../kernel/suspension/resuming.ts";
import { hasExpired } from "../../kernel/suspension/waitpoints.ts";
import { type Content, contentOf, pack } from "../payloads.ts";
import { readInbox } from "../reading/inbox.ts";
import { readSignals } from "../reading/signals.ts";
import { findWaitpoint, listWaitpoints, subjectOf } from "../reading/waitpoints.ts";
import { LocalBudgets } from "./budgets.ts";
import type { Session } from "./session.ts";

/** What a callback is called that names no signal. */
const CALLBACK = "callback";

/** Waitpoints on an engine in this process, and the signals that come to them. */
export class LocalWaitpoints implements WaitpointCalls {
	readonly #session: Session;

	constructor(session: Session) {
		this.#session = session;
	}

	async inbox(request: shapes.InboxRequest = {}): Promise<InboxPage> {
		const { limit = DEFAULT_LIMIT, cursor, ...filter } = shapes.inboxRequest.check(request);
		const namespace = this.#session.namespaceFor(filter.namespace);
		const { engine } = this.#session;
		engine.refuseIfClosed();
		const list = `inbox of ${namespace}`;
		const after = await engine.cursors.after(list, cursor);
		const { waitpoints, next } = await readInbox(this.#session, namespace, filter, limit, after);
		return { waitpoints, ...(next ? { nextCursor: await engine.cursors.at(list, next) } : undefined) };
	}

	async list(id: string, request: shapes.WaitpointsRequest = {}): Promise<WaitpointPage> {
		const { limit = DEFAULT_LIMIT, cursor, all = false } = shapes.waitpointsRequest.check(request);
		const { cursors } = this.#session.engine;
		const list = `waitpoints of ${id}`;
		const found = await this.#session.read(id);
		const after = await cursors.after(list, cursor);
		const { waitpoints, next } = await listWaitpoints(this.#session, found, all, limit, after);
		return { waitpoints, ...(next ? { nextCursor: await cursors.at(list, next) } : undefined) };
	}

	async token(id: string, waitpointId: string): Promise<WaitpointToken> {
		slotOfGivenId("wp", waitpointId, "waitpointId");
		const { record, runner } = await this.#session.read(id);
		const waitpoint = await findWaitpoint(this.#session, runner, waitpointId);
		if (waitpoint?.executionId !== record.id)
			throw new FlowFabricError("waitpoint_not_found", { details: { executionId: id, waitpointId } });
		const { tokens } = this.#session.engine;
		const { token, kid } = await tokens.sign(subjectOf(waitpointId, waitpoint));
		return { id: waitpointId, key: waitpoint.key, token, kid, callbackUrl: tokens.callbackUrl(waitpointId, token) };
	}

	async signals(id: string, request: shapes.SignalsRequest = {}): Promise<SignalPage> {
		const { limit = DEFAULT_LIMIT, cursor } = shapes.signalsRequest.check(request);
		const { cursors } = this.#session.engine;
		const list = `signals of ${id}`;
		const { record, runner } = await this.#session.read(id);
		const [passed] = cursor === undefined ? [0] : await cursors.decode(list, cursor, ["position"]);
		const last = partsOf(record).signals;
		const from = Math.min(last, Number(passed));
		const to = Math.min(last, from + limit);
		const numbers = Array.from({ length: to - from }, (_, n) => from + n + 1);
		const signals = await readSignals(this.#session, runner, id, numbers);
		return { signals, ...(to < last ? { nextCursor: await cursors.encode(list, [to]) } : undefined) };
	}

	async signal(id: string, request: shapes.SignalRequest): Promise<SignalReply> {
		const given = shapes.signalRequest.check(request);
		shapes.checkSource(given.source);
		const { waitpointId, token, payload, payloadBase64, contentType, ...said } = given;
		const content = contentOf({ field: "payload", value: payload, base64: payloadBase64, contentType });
		const waitpoint = await this.#admit(id, waitpointId, token);
		return this.#send(waitpoint, waitpointId, { ...said, actor: `signal ${waitpointId}` }, content);
	}

	async callback(waitpointId: string, request: shapes.CallbackRequest): Promise<SignalReply> {
		const { bytes, ...rest } = request;
		const { token, name = CALLBACK, idempotencyKey, contentType } = shapes.callbackRequest.check(rest);
		const content = contentOf({ field: "payload", value: undefined, base64: undefined, bytes, contentType });
		const waitpoint = await this.#admit(undefined, waitpointId, token);
		const said: Said = {
			name,
			source: { type: CALLBACK, identity: waitpointId },
			actor: `callback ${waitpointId}`,
		};
		if (idempotencyKey !== undefined) said.idempotencyKey = idempotencyKey;
		return this.#send(waitpoint, waitpointId, said, content);
	}

	async approve(id: string, request: shapes.ApproveRequest): Promise<SignalReply> {
		const { name, waitpoint, payload, identity } = shapes.approveRequest.check(request);
		const content = contentOf({ field: "payload", value: payload, base64: undefined, contentType: undefined });
		const { record } = await this.#session.read(id);
		const { actor } = this.#session.caller;
		const { budget } = record.suspension ?? {};
		if (budget !== undefined && (waitpoint ?? budgetWaitpoint(budget)) === budgetWaitpoint(budget))
			await raiseBudget(this.#session, record.namespace, budget, name, content);
		const said: Said = { name, source: { type: "operator", identity: identity ?? actor }, actor };
		const { status, signalId, effect } = await this.#session.run("approve", {
			op: "approve",
			executionId: id,
			...(waitpoint === undefined ? undefined : { waitpoint }),
			...this.#content(id, said, content),
		});
		return { status, signalId, effect };
	}

	async resume(id: string, request: shapes.ResumeRequest = {}): Promise<ResumeReply> {
		const { reason } = shapes.resumeRequest.check(request);
		const { publicState, suspensionId } = await this.#session.run("resume", {
			op: "resume",
			executionId: id,
			...(reason === undefined ? undefined : { reason }),
			actor: this.#session.caller.actor,
		});
		return { publicState, suspensionId };
	}

	/**
	 * The waitpoint a token opens. Whatever is wrong with ids or token, or cannot be read, the answer is the same, and is
	 * worked out in the same way: nothing is told of what is there.
	 */
	async #admit(executionId: string | undefined, waitpointId: string, token: string): Promise<WaitpointRecord> {
		const { engine } = this.#session;
		const slot = slotOfId("wp", waitpointId);
		const runner = engine.runnerOfSlot(slot ?? 0);
		const found = await findWaitpoint(this.#session, runner, slot === undefined ? NOBODY : waitpointId);
		const waitpoint = found && (executionId ?? found.executionId) === found.executionId ? found : undefined;
		const verdict = await engine.tokens.verify(waitpoint && subjectOf(waitpointId, waitpoint), token);
		if (!waitpoint || verdict === "invalid") throw new FlowFabricError("invalid_token");
		if (verdict === "expired" || hasExpired(waitpoint, runner.time.now())) throw new FlowFabricError("token_expired");
		return waitpoint;
	}

	async #send(
		waitpoint: WaitpointRecord,
		waitpointId: string,
		said: Said,
		content: Content | undefined,
	): Promise<SignalReply> {
		const { executionId, namespace, key, suspension, closedAt } = waitpoint;
		// The token is all the authority there is, whoever brings it.
		const session = this.#session.for({ actor: said.actor });
		const budget = suspension > 0 && closedAt === 0 ? budgetOfWaitpoint(key) : undefined;
		if (budget !== undefined) await raiseBudget(session, namespace, budget, said.name, content);
		const { status, signalId, effect } = await session.run("signal", {
			op: "signal",
			executionId,
			waitpointId,
			...this.#content(executionId, said, content),
		});
		return { status, signalId, effect };
	}

	#content(executionId: string, said: Said, content: Content | undefined): SignalContent {
		const uuid = this.#session.engine.mint.next();
		const { payload, blob } = pack(content, signalBlobKey(executionId, uuid));
		const signal: SignalContent = { ...said, payload, uuid };
		if (blob) signal.payloadBlob = blob;
		return signal;
	}
}

type Said = Omit<SignalContent, "payload" | "payloadBlob" | "uuid">;

/** The id of no waitpoint, read where the given one cannot be: a malformed id costs what any other does. */
const NOBODY = `wp_${"0".repeat(32)}_0`;

/** A yes to a budget that paused work may say by how much it is raised, as a PATCH of it would. */
async function raiseBudget(
	session: Session,
	namespace: string,
	budget: string,
	name: string,
	content: Content | undefined,
): Promise<void> {
	if (name !== BUDGET_APPROVE) return;
	const said = jsonOf(content);
	if (typeof said !== "object" || said === null || !("dimensions" in said)) return;
	const { dimensions } = said as { dimensions: unknown };
	const changes = patchBudgetRequest.check({ dimensions });
	await new LocalBudgets(session).patch(budget, changes, { namespace });
}

/** What was said, if it was said as JSON: a callback may bring anything. */
function jsonOf(content: Content | undefined): unknown {
	if (!content || !isJson(content.contentType)) return undefined;
	const { text = Buffer.from(content.bytes ?? []).toString() } = content;
	try {
		return JSON.parse(text);
	} catch {
		return undefined;
	}
}
