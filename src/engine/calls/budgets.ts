import type { BudgetCalls } from "../../contract/backend.ts";
import {
	type CreateBudgetRequest,
	checkBudget,
	createBudgetRequest,
	type LedgerRequest,
	ledgerRequest,
	type PatchBudgetRequest,
	patchBudgetRequest,
	type ReleaseSpendRequest,
	type ResetBudgetRequest,
	releaseSpendRequest,
	resetBudgetRequest,
	type UsageRequest,
	usageRequest,
} from "../../contract/budgets.ts";
import { FlowFabricError } from "../../contract/errors.ts";
import { DEFAULT_LIMIT } from "../../contract/fields.ts";
import {
	checkDimensions,
	type GuardRequest,
	type GuardsPageRequest,
	guardIdShape,
	guardRequest,
	guardsPageRequest,
} from "../../contract/guards.ts";
import type {
	BudgetPage,
	BudgetReset,
	BudgetView,
	CreatedBudget,
	LedgerPage,
	ReleasedSpend,
	UsageReply,
} from "../../contract/replies.ts";
import type { CommandOf } from "../../kernel/kernel.ts";
import type { BudgetRecord } from "../../kernel/records/budget.ts";
import type { GuardName } from "../../kernel/records/guard.ts";
import { budgetView, readLedger } from "../reading/budget-views.ts";
import {
	countAllWaiters,
	countWaiters,
	listGuards,
	readGuard,
	refuseTooMany,
	runnerOfGuard,
} from "../reading/guard-listing.ts";
import type { Session } from "./session.ts";

/** The budgets of a namespace; each lives in the partition of its name. */
export class LocalBudgets implements BudgetCalls {
	readonly #session: Session;

	constructor(session: Session) {
		this.#session = session;
	}

	async create(request: CreateBudgetRequest): Promise<CreatedBudget> {
		const given = createBudgetRequest.check(request);
		checkBudget(given);
		const { id, dimensions, resetEvery = null, onHard = "block", labels = {} } = given;
		const guard = this.#guard(id, given.namespace);
		const { namespace } = guard;
		await refuseTooMany(this.#session, guard);
		const { budget, created } = await this.#session.runOn(runnerOfGuard(this.#session, guard), "createBudget", {
			op: "createBudget",
			namespace,
			id,
			dimensions: copyOf(dimensions),
			resetEvery,
			onHard,
			labels: { ...labels },
		});
		return { ...(await this.#view(guard, budget)), created };
	}

	async get(id: string, request: GuardRequest = {}): Promise<BudgetView> {
		const guard = this.#named(id, request);
		return this.#view(guard, await readGuard<BudgetRecord>(this.#session, guard));
	}

	async list(request: GuardsPageRequest = {}): Promise<BudgetPage> {
		const { limit = DEFAULT_LIMIT, cursor, ...given } = guardsPageRequest.check(request);
		const namespace = this.#session.namespaceFor(given.namespace);
		const { engine } = this.#session;
		engine.refuseIfClosed();
		const list = `budgets of ${namespace}`;
		const after = await engine.cursors.after(list, cursor);
		const { found, next } = await listGuards<BudgetRecord>(this.#session, "budget", namespace, limit, after);
		const waiting = await countAllWaiters(this.#session, "budget", namespace);
		return {
			budgets: found.map(({ record, runner }) => budgetView(record, waiting.get(record.id) ?? 0, runner.time.now())),
			...(next ? { nextCursor: await engine.cursors.at(list, next) } : undefined),
		};
	}

	async patch(id: string, changes: PatchBudgetRequest, request: GuardRequest = {}): Promise<BudgetView> {
		const given = patchBudgetRequest.check(changes);
		checkBudget(given);
		const guard = this.#named(id, request);
		const command: CommandOf<"patchBudget"> = { op: "patchBudget", namespace: guard.namespace, id };
		if (given.dimensions) command.dimensions = copyOf(given.dimensions);
		if (given.resetEvery !== undefined) command.resetEvery = given.resetEvery;
		if (given.onHard !== undefined) command.onHard = given.onHard;
		if (given.labels) command.labels = { ...given.labels };
		const { budget } = await this.#session.runOn(runnerOfGuard(this.#session, guard), "patchBudget", command);
		return this.#view(guard, budget);
	}

	async delete(id: string, request: GuardRequest = {}): Promise<{ deleted: true }> {
		const guard = this.#named(id, request);
		const { namespace } = guard;
		this.#session.engine.guards.directory.forget(guard);
		await this.#session.runOn(runnerOfGuard(this.#session, guard), "deleteBudget", {
			op: "deleteBudget",
			namespace,
			id,
		});
		this.#session.engine.guards.directory.forget(guard);
		return { deleted: true };
	}

	async usage(id: string, report: UsageRequest, request: GuardRequest = {}): Promise<UsageReply> {
		const { dims, executionId, dedupKey } = usageRequest.check(report);
		checkDimensions("dims", dims);
		const guard = this.#named(id, request);
		const spender = executionId === undefined ? undefined : await this.#spender(executionId, guard.namespace);
		return reportUsage(this.#session, guard, dims, spender, dedupKey);
	}

	/** What an execution spent that is gone, or none of this namespace, is counted as nobody's. */
	async #spender(executionId: string, namespace: string): Promise<string | undefined> {
		try {
			const { record } = await this.#session.read(executionId);
			return record.namespace === namespace ? executionId : undefined;
		} catch (error) {
			if (error instanceof FlowFabricError && error.code === "execution_not_found") return undefined;
			throw error;
		}
	}

	async reset(id: string, reset: ResetBudgetRequest = {}, request: GuardRequest = {}): Promise<BudgetReset> {
		const { requestId } = resetBudgetRequest.check(reset);
		const guard = this.#named(id, request);
		const { budget } = await this.#session.runOn(runnerOfGuard(this.#session, guard), "resetBudget", {
			op: "resetBudget",
			namespace: guard.namespace,
			id,
			...(requestId === undefined ? undefined : { requestId }),
		});
		return budget.nextResetAt > 0 ? { nextResetAt: budget.nextResetAt } : {};
	}

	async release(id: string, release: ReleaseSpendRequest, request: GuardRequest = {}): Promise<ReleasedSpend> {
		const { executionId, requestId } = releaseSpendRequest.check(release);
		const guard = this.#named(id, request);
		this.#session.engine.partitionOf(executionId, "executionId");
		const { released } = await this.#session.runOn(runnerOfGuard(this.#session, guard), "releaseSpend", {
			op: "releaseSpend",
			namespace: guard.namespace,
			id,
			executionId,
			...(requestId === undefined ? undefined : { requestId }),
		});
		return { released: { ...released } };
	}

	async ledger(id: string, request: LedgerRequest = {}): Promise<LedgerPage> {
		const { limit = DEFAULT_LIMIT, cursor, ...given } = ledgerRequest.check(request);
		const { cursors } = this.#session.engine;
		const guard = this.#named(id, given);
		const list = `ledger of ${guard.namespace} ${id}`;
		const after = await cursors.after(list, cursor);
		const budget = await readGuard<BudgetRecord>(this.#session, guard);
		const { entries, next } = await readLedger(this.#session, budget, limit, after);
		return { entries, ...(next ? { nextCursor: await cursors.at(list, next) } : undefined) };
	}

	#named(id: string, request: GuardRequest): GuardName {
		guardIdShape.check({ id });
		return this.#guard(id, guardRequest.check(request).namespace);
	}

	#guard(id: string, namespace: string | undefined): GuardName {
		return { kind: "budget", namespace: this.#session.namespaceFor(namespace), id };
	}

	async #view(guard: GuardName, budget: BudgetRecord): Promise<BudgetView> {
		const waiting = await countWaiters(this.#session, guard);
		return budgetView(budget, waiting, runnerOfGuard(this.#session, guard).time.now());
	}
}

/** Reports what was spent of a budget, for an operator or for a worker whose fence was checked. */
export async function reportUsage(
	session: Session,
	guard: GuardName,
	dims: Readonly<Record<string, number>>,
	executionId: string | undefined,
	dedupKey: string | undefined,
): Promise<UsageReply> {
	const command: CommandOf<"reportUsage"> = {
		op: "reportUsage",
		namespace: guard.namespace,
		id: guard.id,
		dims: { ...dims },
	};
	if (executionId !== undefined) command.executionId = executionId;
	if (dedupKey !== undefined) command.dedupKey = dedupKey;
	const { ok: _, ...reply } = await session.runOn(runnerOfGuard(session, guard), "reportUsage", command);
	return reply;
}

/** The caller may use what it gave again as soon as it has called. */
const copyOf = <V>(dimensions: Record<string, V>): Record<string, V> => structuredClone(dimensions);
