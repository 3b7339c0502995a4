import type { Calls } from "../../../src/index.ts";
import { type Holding, LONG_MS, type Making, type Name, type Page, type Tenant, type Values } from "./names.ts";
import { makers } from "./things.ts";

/** What one tenant has; each thing is made when it is first asked for. */
export class Made implements Making {
	readonly calls: Calls;
	readonly tenant: Tenant;
	readonly #made = new Map<string, Promise<unknown>>();

	constructor(calls: Calls, tenant: Tenant) {
		this.calls = calls;
		this.tenant = tenant;
	}

	name<N extends Name>(name: N): Promise<Values[N]> {
		return this.#once(name, () => makers[name](this));
	}

	async names(...names: Name[]): Promise<Partial<Values>> {
		const values: Record<string, unknown> = {};
		for (const name of names) values[name] = await this.name(name);
		return values;
	}

	holding(label: string): Promise<Holding> {
		return this.#once(`holding ${label}`, async () => {
			const { namespace, mark, secret } = this.tenant;
			const lane = `${mark}-${label}`;
			const guards = label === "busy" ? { budgets: [await this.name("budget")] } : {};
			const { id } = await this.calls.executions.create({ kind: `${mark}-kind`, namespace, lane, ...guards });
			const worker = { workerId: secret, instanceId: secret, namespace, lanes: [lane] };
			const [claimed] = await this.calls.leases.claim({ ...worker, leaseMs: LONG_MS });
			if (claimed?.id !== id) throw new Error("something else was claimed");
			return { id, fence: { leaseId: claimed.lease.id, epoch: claimed.lease.epoch } };
		});
	}

	waitingFor(label = "suspended") {
		return this.#once(`waiting ${label}`, async () => {
			const { id, fence } = await this.holding(label);
			const waitpoints = [{ key: `${this.tenant.mark}-waitpoint` }];
			const wait = { reason: "waiting_for_signal", condition: { signal: "go" }, waitpoints } as const;
			const [waitpoint] = (await this.calls.leases.suspend(id, { fence, ...wait })).waitpoints;
			if (!waitpoint) throw new Error("there is no waitpoint");
			return { id, waitpoint };
		});
	}

	granted() {
		return this.#once("granted", async () => {
			const { namespace, mark } = this.tenant;
			const [lane, requestId] = [`${mark}-grants`, `${mark}-request`];
			await this.calls.executions.create({ kind: `${mark}-kind`, namespace, lane });
			const worker = { workerId: "w", instanceId: "matrix", namespace, lanes: [lane] };
			const grant = await this.calls.leases.grant({ ...worker, requestId, grantTtlMs: 60_000 });
			if (!grant) throw new Error("nothing was granted");
			return { id: grant.grantId, executionId: grant.executionId, requestId };
		});
	}

	async cursor(list: (page: Page) => Promise<{ nextCursor?: string }>): Promise<string> {
		await this.names("waiting", "held");
		const { nextCursor } = await list({ namespace: this.tenant.namespace, limit: 1 });
		if (nextCursor === undefined) throw new Error("the list has one page only");
		return nextCursor;
	}

	#once<T>(label: string, make: () => Promise<T>): Promise<T> {
		const made = (this.#made.get(label) as Promise<T> | undefined) ?? make();
		this.#made.set(label, made);
		return made;
	}
}
