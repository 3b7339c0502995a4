import type { CreateBudgetRequest } from "../../src/contract/budgets.ts";
import type { CreateRequest } from "../../src/contract/executions.ts";
import type { CreateQuotaRequest } from "../../src/contract/quotas.ts";
import type { ClaimedExecution, Explanation } from "../../src/contract/replies.ts";
import type { ExecutionRecord } from "../../src/kernel/records/execution.ts";
import type { Node } from "./cluster.ts";
import type { Stage } from "./stage.ts";
import { asTenant, type Tenant } from "./tenants.ts";
import { Violation } from "./violation.ts";

/** What a slow store and a drifting clock may add to anything. */
export const PATIENCE_MS = 1500;

/** After this long others do what the engine that minds a partition has not done. */
export const TAKE_OVER_MS = 3000;

/** What the closing acts are made of: calm, an empty store, and everything done on time. */
export class Calm {
	readonly stage: Stage;

	constructor(stage: Stage) {
		this.stage = stage;
	}

	async submit(tenant: Tenant, count: number, request: Omit<CreateRequest, "kind">): Promise<string[]> {
		const items = Array.from({ length: count }, () => ({ kind: "a", ...request }));
		const made = await this.stage.answer((backend) => asTenant(backend, tenant).executions.createMany(items));
		return made.map(({ id, error }) => {
			if (id === undefined) throw new Violation(`${tenant} could not submit: ${error?.code}`);
			return id;
		});
	}

	/** A budget that nobody else has. */
	async makeBudget(tenant: Tenant, request: Omit<CreateBudgetRequest, "id">): Promise<string> {
		const id = `budget-${this.stage.count()}`;
		await this.stage.answer((backend) => asTenant(backend, tenant).budgets.create({ id, ...request }));
		return id;
	}

	async makeQuota(tenant: Tenant, request: Omit<CreateQuotaRequest, "id">): Promise<string> {
		const id = `quota-${this.stage.count()}`;
		await this.stage.answer((backend) => asTenant(backend, tenant).quotas.create({ id, ...request }));
		return id;
	}

	async register(tenant: Tenant, instanceId: string, capabilities: string[], lanes: string[]): Promise<void> {
		const request = { workerId: tenant, capabilities, lanes, ttlMs: 120_000 };
		this.stage.checker.workers.offers(tenant, capabilities);
		await this.stage.answer((backend) => asTenant(backend, tenant).workers.register(instanceId, request));
	}

	async leave(tenant: Tenant, instanceIds: string[]): Promise<void> {
		for (const instanceId of instanceIds)
			await this.stage.answer((backend) => asTenant(backend, tenant).workers.remove(instanceId));
	}

	explain(tenant: Tenant, id: string): Promise<Explanation> {
		return this.stage.answer((backend) => asTenant(backend, tenant).executions.explain(id));
	}

	/** A claim at every engine, all waiting at the same time; whatever they get is completed. */
	claimEverywhere(tenant: Tenant, instanceId: string, lanes: string[], capabilities: string[], waitMs: number): void {
		this.stage.checker.workers.offers(tenant, capabilities);
		for (const node of this.stage.cluster.nodes) {
			const request = { workerId: tenant, instanceId, lanes, capabilities, max: 4, waitMs };
			this.stage.settle(
				this.stage.cluster.call(node, 0, (backend) => asTenant(backend, tenant).leases.claim(request)),
				(heard) => {
					if (heard.kind === "ok") this.completeAll(node, heard.value);
				},
			);
		}
	}

	completeAll(node: Node, claimed: readonly ClaimedExecution[]): void {
		for (const { id, lease } of claimed) {
			const fence = { leaseId: lease.id, epoch: lease.epoch };
			this.stage.settle(
				this.stage.cluster.call(node, 0, (backend) => backend.leases.complete(id, { fence })),
				() => {},
			);
		}
	}

	/** Claims until this is given, which nothing stands before. */
	async claimOne(tenant: Tenant, id: string): Promise<{ leaseId: string; epoch: number }> {
		const who = { workerId: tenant, instanceId: "w1", waitMs: 1000 };
		const [claimed] = await this.stage.answer((backend) => asTenant(backend, tenant).leases.claim(who));
		this.require(claimed?.id === id, `${id} is all there is, and a claim was given ${claimed?.id ?? "nothing"}`);
		return { leaseId: claimed?.lease.id ?? "", epoch: claimed?.lease.epoch ?? 0 };
	}

	record(id: string): ExecutionRecord {
		const record = this.stage.checker.recordOf(id);
		if (!record) throw new Violation(`${id} is lost`);
		return record;
	}

	/** Claims again and again, as a worker does, until these have ended. */
	async serve(tenant: Tenant, instanceId: string, ids: string[], lanes: string[], needs: string[] = []): Promise<void> {
		const isServed = () => ids.every((id) => this.record(id).lifecyclePhase === "terminal");
		for (let round = 0; round < 6; round++) {
			this.claimEverywhere(tenant, instanceId, lanes, needs, 400);
			if (await this.stage.until(isServed, 500)) return;
		}
		const left = ids.filter((id) => this.record(id).lifecyclePhase !== "terminal");
		throw new Violation(`${tenant} has a worker that claims and is not given ${this.stage.stored(left[0] ?? "")}`);
	}

	require(holds: boolean, otherwise: string): void {
		if (!holds) throw new Violation(otherwise);
	}
}
