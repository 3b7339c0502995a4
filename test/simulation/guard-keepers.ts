import type { CreateBudgetRequest, UsageRequest } from "../../src/contract/budgets.ts";
import type { CreateQuotaRequest } from "../../src/contract/quotas.ts";
import type { UsageReply } from "../../src/contract/replies.ts";
import type { LocalBackend } from "../../src/engine/local-backend.ts";
import type { Held } from "./lease-requests.ts";
import type { Stage } from "./stage.ts";
import { asTenant, BUDGETS, QUOTAS, TENANTS, type Tenant } from "./tenants.ts";
import { Violation } from "./violation.ts";

/** More than anybody spends. */
const PLENTY = 1_000_000_000;

/** Those who make budgets and quotas, change them, and say what was spent. */
export class GuardKeepers {
	readonly #stage: Stage;
	/** Reports that were answered, by budget and key, and which life of the budget that was in. */
	readonly #answered = new Map<string, number>();

	constructor(stage: Stage) {
		this.#stage = stage;
	}

	/** Most of what work may name is there from the beginning. */
	found(): void {
		const { random } = this.#stage;
		for (const tenant of TENANTS) {
			for (const id of BUDGETS) if (random.chance(0.8)) this.#make(tenant, "budget", id);
			for (const id of QUOTAS) if (random.chance(0.8)) this.#make(tenant, "quota", id);
		}
	}

	act(known: readonly string[]): void {
		const { random } = this.#stage;
		const tenant = this.#stage.someTenant();
		const budget = random.pick(BUDGETS);
		const deed = random.weighted({
			report: 14,
			patch: 5,
			patchQuota: 4,
			release: 3,
			reset: 2,
			remove: 2,
			make: 3,
			read: 2,
		});
		switch (deed) {
			case "report":
				return this.#report(tenant, budget, known);
			case "patch":
				return this.#patch(tenant, budget);
			case "patchQuota":
				return this.#patchQuota(tenant, random.pick(QUOTAS));
			case "release":
				return this.#release(tenant, budget, known);
			case "reset":
				return this.#twice((backend, requestId) => asTenant(backend, tenant).budgets.reset(budget, { requestId }));
			case "remove":
				return this.#remove(tenant);
			case "make":
				return random.chance(0.5)
					? this.#make(tenant, "budget", budget)
					: this.#make(tenant, "quota", random.pick(QUOTAS));
			case "read":
				return this.#read(tenant, budget);
		}
	}

	/** A worker says what it spent under its lease. */
	spend(held: Held): void {
		const { random, checker } = this.#stage;
		const { budgets = [], namespace = "" } = checker.recordOf(held.id) ?? {};
		if (budgets.length === 0) return;
		const budget = random.pick(budgets);
		const report = this.#someReport();
		const { fence } = held;
		this.#send(namespace, budget, report.dedupKey, (backend) =>
			backend.leases.usage(held.id, { fence, budget, ...report }),
		);
	}

	/** In calm: whatever is limited is so generously, until all of it is. Late changes may have come after the last time. */
	provide(tenant: Tenant): void {
		const { checker } = this.#stage;
		for (const id of BUDGETS) {
			const budget = checker.guards.budget(tenant, id);
			const isLimited = Object.values(budget?.dimensions ?? {}).some(({ hard = PLENTY }) => hard < PLENTY);
			if (!budget || (!isLimited && Object.keys(budget.exhausted).length === 0)) continue;
			const dimensions = Object.fromEntries(Object.keys(budget.dimensions).map((name) => [name, { hard: PLENTY }]));
			this.#stage.call((backend) => asTenant(backend, tenant).budgets.patch(id, { dimensions }), ignore);
		}
	}

	#make(tenant: Tenant, kind: "budget" | "quota", id: string): void {
		const { random, world } = this.#stage;
		const isSent = this.#stage.call(
			(backend): Promise<object> =>
				kind === "budget"
					? asTenant(backend, tenant).budgets.create(this.#someBudget(id))
					: asTenant(backend, tenant).quotas.create(this.#someQuota(id)),
			(heard) => {
				if (heard.kind === "ok") this.#stage.note(`${kind} made`);
			},
		);
		if (!isSent) world.after(random.integer(20, 200), () => this.#make(tenant, kind, id));
	}

	#someBudget(id: string): CreateBudgetRequest {
		const { random } = this.#stage;
		const tokens = { hard: random.integer(10, 60), ...(random.chance(0.3) ? { soft: 15 } : undefined) };
		return {
			id,
			dimensions: { tokens, ...(random.chance(0.3) ? { calls: { hard: random.integer(1, 6) } } : undefined) },
			onHard: random.pick(["block", "block", "fail", "cancel", "suspend", "suspend"]),
			...(id === "b3" ? { resetEvery: random.integer(1000, 5000) } : undefined),
		};
	}

	#someQuota(id: string): CreateQuotaRequest {
		const { random } = this.#stage;
		const rate = { max: random.integer(1, 3), windowMs: random.pick([200, 700, 1800]) };
		const concurrency = random.pick([1, 1, 2]);
		return {
			id,
			...(id === "q1" ? undefined : { rate }),
			...(id === "q2" ? undefined : { concurrency }),
			...(random.chance(0.2) ? { jitterMs: 200 } : undefined),
			...(random.chance(0.4) ? { holdWhileSuspended: true } : undefined),
		};
	}

	#someReport(): Pick<UsageRequest, "dims" | "dedupKey"> {
		const { random } = this.#stage;
		const dims = { tokens: random.integer(0, 30), ...(random.chance(0.3) ? { calls: 1 } : undefined) };
		return random.chance(0.6) ? { dims, dedupKey: `d${this.#stage.count()}` } : { dims };
	}

	#report(tenant: Tenant, budget: string, known: readonly string[]): void {
		const { random } = this.#stage;
		const report: UsageRequest = this.#someReport();
		if (known.length > 0 && random.chance(0.6)) report.executionId = random.pick(known);
		this.#send(tenant, budget, report.dedupKey, (backend) => asTenant(backend, tenant).budgets.usage(budget, report));
	}

	/** A report that has a key may be made again: its answer may be lost, or late, and another engine may be asked. */
	#send(
		namespace: string,
		budget: string,
		dedupKey: string | undefined,
		question: (backend: LocalBackend) => Promise<UsageReply>,
		repeats = dedupKey === undefined ? 0 : this.#stage.random.integer(0, 2),
	): void {
		const { random, world, checker } = this.#stage;
		const name = `${namespace} ${budget} ${dedupKey}`;
		const life = checker.guards.lifeOf(namespace, budget);
		const answered = this.#answered.get(name);
		this.#stage.call(question, (heard) => {
			if (heard.kind !== "ok") return;
			const { outcome, duplicate } = heard.value;
			if (outcome === "hard_breach") return this.#stage.note("reports refused");
			this.#stage.note(duplicate ? "reports repeated" : "usage reported");
			if (!duplicate && answered !== undefined && answered === checker.guards.lifeOf(namespace, budget))
				throw new Violation(`${dedupKey} was counted by ${budget} of ${namespace}, and is counted again`);
			if (dedupKey !== undefined && !this.#answered.has(name)) this.#answered.set(name, life);
		});
		if (repeats === 0) return;
		const later = random.pick([0, 20, 400, 1500]);
		world.after(later, () => this.#send(namespace, budget, dedupKey, question, repeats - 1));
	}

	#patch(tenant: Tenant, budget: string): void {
		const { random } = this.#stage;
		const hard = random.pick([null, random.integer(10, 60), random.integer(60, 300)]);
		const changes = {
			dimensions: random.chance(0.1) ? { calls: null } : { tokens: { hard } },
			...(random.chance(0.3) ? { onHard: random.pick(["block", "fail", "cancel", "suspend"] as const) } : undefined),
		};
		this.#stage.call(
			(backend) => asTenant(backend, tenant).budgets.patch(budget, changes),
			this.#noted("guards changed"),
		);
	}

	#patchQuota(tenant: Tenant, quota: string): void {
		const { random } = this.#stage;
		const changes = random.chance(0.5)
			? { concurrency: random.integer(1, 3) }
			: { rate: { max: random.integer(1, 4), windowMs: random.pick([200, 700, 1800]) } };
		this.#stage.call(
			(backend) => asTenant(backend, tenant).quotas.patch(quota, changes),
			this.#noted("guards changed"),
		);
	}

	#release(tenant: Tenant, budget: string, known: readonly string[]): void {
		if (known.length === 0) return;
		const executionId = this.#stage.random.pick(known);
		this.#twice((backend, requestId) => asTenant(backend, tenant).budgets.release(budget, { executionId, requestId }));
	}

	/** Said once or twice under the same id. */
	#twice(question: (backend: LocalBackend, requestId: string) => Promise<object>): void {
		const { random, world } = this.#stage;
		const requestId = `g${this.#stage.count()}`;
		const ask = () => this.#stage.call((backend) => question(backend, requestId), ignore);
		ask();
		if (random.chance(0.3)) world.after(random.pick([0, 20, 400]), ask);
	}

	/** Deleted, and as a rule made again soon, perhaps while what belongs to it is still being removed. */
	#remove(tenant: Tenant): void {
		const { random, world } = this.#stage;
		const kind = random.pick(["budget", "quota"] as const);
		const id = random.pick(kind === "budget" ? BUDGETS : QUOTAS);
		this.#stage.call(
			(backend) =>
				kind === "budget" ? asTenant(backend, tenant).budgets.delete(id) : asTenant(backend, tenant).quotas.delete(id),
			(heard) => {
				if (heard.kind === "ok") this.#stage.note(`${kind} deleted`);
			},
		);
		if (random.chance(0.8)) world.after(random.pick([0, 5, 50, 1000, 4000]), () => this.#make(tenant, kind, id));
	}

	#read(tenant: Tenant, budget: string): void {
		const { random } = this.#stage;
		this.#stage.call((backend): Promise<object> => {
			const { budgets, quotas } = asTenant(backend, tenant);
			switch (random.pick(["ledger", "budgets", "quotas", "quota"])) {
				case "ledger":
					return budgets.ledger(budget);
				case "budgets":
					return budgets.list();
				case "quotas":
					return quotas.list();
				default:
					return quotas.get(random.pick(QUOTAS));
			}
		}, ignore);
	}

	#noted(what: string): (heard: { kind: string }) => void {
		return ({ kind }) => {
			if (kind === "ok") this.#stage.note(what);
		};
	}
}

const ignore = () => {};
