import type { QuotaCalls } from "../../contract/backend.ts";
import { DEFAULT_LIMIT } from "../../contract/fields.ts";
import {
	type GuardRequest,
	type GuardsPageRequest,
	guardIdShape,
	guardRequest,
	guardsPageRequest,
} from "../../contract/guards.ts";
import {
	type CreateQuotaRequest,
	checkNewQuota,
	createQuotaRequest,
	type PatchQuotaRequest,
	patchQuotaRequest,
} from "../../contract/quotas.ts";
import type { CreatedQuota, QuotaPage, QuotaView } from "../../contract/replies.ts";
import type { CommandOf } from "../../kernel/kernel.ts";
import type { GuardName } from "../../kernel/records/guard.ts";
import type { QuotaRecord } from "../../kernel/records/quota.ts";
import { mapBounded } from "../bounded.ts";
import {
	countAllWaiters,
	countWaiters,
	listGuards,
	readGuard,
	refuseTooMany,
	runnerOfGuard,
} from "../reading/guard-listing.ts";
import { holdersOf, listedQuota } from "../reading/quota-views.ts";
import type { Session } from "./session.ts";

/** Quotas of a page whose windows are looked at at the same time. */
const IN_FLIGHT = 16;

/** The quotas of a namespace; each lives in the partition of its name. */
export class LocalQuotas implements QuotaCalls {
	readonly #session: Session;

	constructor(session: Session) {
		this.#session = session;
	}

	async create(request: CreateQuotaRequest): Promise<CreatedQuota> {
		const given = createQuotaRequest.check(request);
		checkNewQuota(given);
		const { id, rate, concurrency = 0, holdWhileSuspended = false, jitterMs = 0 } = given;
		const guard = this.#guard(id, given.namespace);
		const { namespace } = guard;
		await refuseTooMany(this.#session, guard);
		const { quota, created } = await this.#session.runOn(runnerOfGuard(this.#session, guard), "createQuota", {
			op: "createQuota",
			namespace,
			id,
			rate: rate ? { ...rate } : null,
			concurrency,
			holdWhileSuspended,
			jitterMs,
		});
		return { ...(await this.#view(guard, quota)), created };
	}

	async get(id: string, request: GuardRequest = {}): Promise<QuotaView> {
		const guard = this.#named(id, request);
		return this.#view(guard, await readGuard<QuotaRecord>(this.#session, guard));
	}

	async list(request: GuardsPageRequest = {}): Promise<QuotaPage> {
		const { limit = DEFAULT_LIMIT, cursor, ...given } = guardsPageRequest.check(request);
		const namespace = this.#session.namespaceFor(given.namespace);
		const { engine } = this.#session;
		engine.refuseIfClosed();
		const list = `quotas of ${namespace}`;
		const after = await engine.cursors.after(list, cursor);
		const { found, next } = await listGuards<QuotaRecord>(this.#session, "quota", namespace, limit, after);
		const waiting = await countAllWaiters(this.#session, "quota", namespace);
		return {
			quotas: await mapBounded(found, IN_FLIGHT, ({ record, runner }) =>
				listedQuota(this.#session, runner, record, waiting.get(record.id) ?? 0),
			),
			...(next ? { nextCursor: await engine.cursors.at(list, next) } : undefined),
		};
	}

	async patch(id: string, changes: PatchQuotaRequest, request: GuardRequest = {}): Promise<QuotaView> {
		const given = patchQuotaRequest.check(changes);
		const guard = this.#named(id, request);
		const command: CommandOf<"patchQuota"> = { op: "patchQuota", namespace: guard.namespace, id };
		if (given.rate !== undefined) command.rate = given.rate && { ...given.rate };
		if (given.concurrency !== undefined) command.concurrency = given.concurrency;
		if (given.holdWhileSuspended !== undefined) command.holdWhileSuspended = given.holdWhileSuspended;
		if (given.jitterMs !== undefined) command.jitterMs = given.jitterMs;
		const { quota } = await this.#session.runOn(runnerOfGuard(this.#session, guard), "patchQuota", command);
		return this.#view(guard, quota);
	}

	async delete(id: string, request: GuardRequest = {}): Promise<{ deleted: true }> {
		const guard = this.#named(id, request);
		const { namespace } = guard;
		this.#session.engine.guards.directory.forget(guard);
		await this.#session.runOn(runnerOfGuard(this.#session, guard), "deleteQuota", { op: "deleteQuota", namespace, id });
		this.#session.engine.guards.directory.forget(guard);
		return { deleted: true };
	}

	#named(id: string, request: GuardRequest): GuardName {
		guardIdShape.check({ id });
		return this.#guard(id, guardRequest.check(request).namespace);
	}

	#guard(id: string, namespace: string | undefined): GuardName {
		return { kind: "quota", namespace: this.#session.namespaceFor(namespace), id };
	}

	async #view(guard: GuardName, quota: QuotaRecord): Promise<QuotaView> {
		const runner = runnerOfGuard(this.#session, guard);
		const [waiting, holders] = await Promise.all([
			countWaiters(this.#session, guard),
			holdersOf(this.#session, runner, quota),
		]);
		return { ...(await listedQuota(this.#session, runner, quota, waiting)), ...holders };
	}
}
