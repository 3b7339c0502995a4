import { randomUUID } from "node:crypto";
import type { BudgetCalls } from "../contract/backend.ts";
import {
	type CreateBudgetRequest,
	type LedgerRequest,
	ledgerRequest,
	type PatchBudgetRequest,
	type ReleaseSpendRequest,
	type ResetBudgetRequest,
	type UsageRequest,
} from "../contract/budgets.ts";
import {
	type GuardRequest,
	type GuardsPageRequest,
	guardIdShape,
	guardRequest,
	guardsPageRequest,
} from "../contract/guards.ts";
import type {
	BudgetPage,
	BudgetReset,
	BudgetView,
	CreatedBudget,
	LedgerPage,
	ReleasedSpend,
	UsageReply,
} from "../contract/replies.ts";
import { plainBody, queryOf } from "./bodies.ts";
import type { Call, Transport } from "./transport.ts";

/** Budgets over HTTP. What must be done once goes out under a key, so that it can be sent again. */
export class RemoteBudgets implements BudgetCalls {
	readonly #transport: Transport;

	constructor(transport: Transport) {
		this.#transport = transport;
	}

	async create(request: CreateBudgetRequest): Promise<CreatedBudget> {
		return this.#transport.json({ method: "POST", path: "/v1/budgets", body: plainBody(request), repeat: "always" });
	}

	async get(id: string, request: GuardRequest = {}): Promise<BudgetView> {
		return this.#transport.json({ method: "GET", path: pathOf(id, "", request), repeat: "always" });
	}

	async list(request: GuardsPageRequest = {}): Promise<BudgetPage> {
		const path = `/v1/budgets${queryOf(guardsPageRequest.check(request))}`;
		return this.#transport.json({ method: "GET", path, repeat: "always" });
	}

	async patch(id: string, changes: PatchBudgetRequest, request: GuardRequest = {}): Promise<BudgetView> {
		const path = pathOf(id, "", request);
		return this.#transport.json({ method: "PATCH", path, body: plainBody(changes), repeat: "always" });
	}

	/** Sent again only if it was not done: by then there may be another of that name. */
	async delete(id: string, request: GuardRequest = {}): Promise<{ deleted: true }> {
		return this.#transport.json({ method: "DELETE", path: pathOf(id, "", request), repeat: "undone" });
	}

	async usage(id: string, report: UsageRequest, request: GuardRequest = {}): Promise<UsageReply> {
		return this.#transport.json({ method: "POST", path: pathOf(id, "/usage", request), ...countedOnce(report) });
	}

	async reset(id: string, reset: ResetBudgetRequest = {}, request: GuardRequest = {}): Promise<BudgetReset> {
		return this.#transport.json({ method: "POST", path: pathOf(id, "/reset", request), ...doneOnce(reset) });
	}

	async release(id: string, release: ReleaseSpendRequest, request: GuardRequest = {}): Promise<ReleasedSpend> {
		return this.#transport.json({ method: "POST", path: pathOf(id, "/release", request), ...doneOnce(release) });
	}

	async ledger(id: string, request: LedgerRequest = {}): Promise<LedgerPage> {
		guardIdShape.check({ id });
		const path = `/v1/budgets/${encodeURIComponent(id)}/ledger${queryOf(ledgerRequest.check(request))}`;
		return this.#transport.json({ method: "GET", path, repeat: "always" });
	}
}

/** A report under the key it has, or one made here. An empty key is none: then it is not sent again. */
export function countedOnce(report: { dedupKey?: string }): Pick<Call, "body" | "repeat"> {
	if (typeof report !== "object" || report === null || report.dedupKey === "") {
		return { body: plainBody(report), repeat: "undone" };
	}
	return { body: plainBody({ dedupKey: randomUUID(), ...defined(report) }), repeat: "always" };
}

function doneOnce(request: { requestId?: string }): Pick<Call, "body" | "repeat"> {
	const body =
		typeof request === "object" && request !== null ? { requestId: randomUUID(), ...defined(request) } : request;
	return { body: plainBody(body), repeat: "always" };
}

/** A field that is given as undefined is not given. */
const defined = (fields: object): object =>
	Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

/** The name is checked here: as part of a path it would be taken for another, or for none. */
function pathOf(id: string, rest: string, request: GuardRequest): string {
	guardIdShape.check({ id });
	return `/v1/budgets/${encodeURIComponent(id)}${rest}${queryOf(guardRequest.check(request))}`;
}
