import type { SuspendRequest } from "../../src/contract/waitpoints.ts";
import type { LocalBackend } from "../../src/engine/local-backend.ts";
import type { Held } from "./lease-requests.ts";
import type { Stage } from "./stage.ts";
import { asTenant, KINDS, type Tenant } from "./tenants.ts";

type Deed = (held: Held, stage: Stage) => (backend: LocalBackend) => Promise<unknown>;

/** What a holder does with a member, and with its lease. */
const DEEDS = {
	/** The result tells under which lease it was made. */
	complete:
		({ id, fence }) =>
		(backend) =>
			backend.leases.complete(id, { fence, result: `${id} ${fence.epoch}` }),
	fail: ({ id, fence }, { random }) => {
		const failure = { reason: `under ${fence.epoch}`, category: random.pick(["error", "permanent"]) };
		return (backend) => backend.leases.fail(id, { fence, ...failure });
	},
	release:
		({ id, fence }) =>
		(backend) =>
			backend.leases.release(id, { fence }),
	delay:
		({ id, fence }) =>
		(backend) =>
			backend.leases.delay(id, { fence, delayMs: 150 }),
	cancel:
		({ id, fence }) =>
		(backend) =>
			backend.executions.cancel(id, { fence }),
	suspend: ({ id, fence }, { random }) => {
		const timeoutBehavior = random.pick(["fail", "cancel", "expire", "resume"] as const);
		const request: SuspendRequest = {
			fence,
			reason: "waiting_for_signal",
			condition: { operatorOnly: true },
			timeoutMs: random.integer(20, 2000),
			timeoutBehavior,
		};
		return (backend) => backend.leases.suspend(id, request);
	},
} satisfies Record<string, Deed>;

/** Those who run members of flows. */
export class FlowWorkers {
	readonly #stage: Stage;
	#held: Held[] = [];

	constructor(stage: Stage) {
		this.#stage = stage;
	}

	claim(waitMs: number, max = this.#stage.random.integer(1, 4), tenant: Tenant = this.#stage.someTenant()): void {
		const { random } = this.#stage;
		const requestId = random.chance(0.3) ? `r${this.#stage.count()}` : undefined;
		const request = {
			workerId: tenant,
			instanceId: `w${random.integer(1, 3)}`,
			kinds: KINDS,
			...(requestId === undefined ? undefined : { requestId }),
			max,
			leaseMs: this.#stage.calm ? 3000 : random.integer(200, 3000),
			waitMs,
		};
		this.#send(tenant, request, requestId === undefined ? 0 : random.integer(0, 2));
	}

	#send(tenant: Tenant, request: Parameters<LocalBackend["leases"]["claim"]>[0], repeats: number): void {
		const { checker, random, world } = this.#stage;
		this.#stage.call(
			(backend) => asTenant(backend, tenant).leases.claim(request),
			(heard) => {
				if (heard.kind !== "ok") return;
				for (const { id, lease, parents } of heard.value) {
					checker.flows.checkParents(id, lease.id, parents);
					if (this.#held.some(({ fence }) => fence.leaseId === lease.id)) continue;
					this.#held.push({ id, fence: { leaseId: lease.id, epoch: lease.epoch } });
				}
			},
		);
		if (repeats > 0) world.after(random.pick([0, 20, 400]), () => this.#send(tenant, request, repeats - 1));
	}

	/** Somebody does something with a member it holds, and perhaps says so again. */
	work(): void {
		const { random } = this.#stage;
		if (this.#held.length === 0) return;
		const held = random.pick(this.#held);
		const what = random.weighted({ complete: 12, fail: 6, release: 1, delay: 1, cancel: 1, suspend: 2 });
		const question: ReturnType<Deed> = DEEDS[what](held, this.#stage);
		this.#held = this.#held.filter((other) => other !== held);
		this.#stage.call(question, () => {});
		if (random.chance(0.3)) this.#stage.call(question, () => {});
	}

	/** In calm: all that is held comes to an end, some of it a bad one. */
	finish(failing: number): void {
		for (const held of this.#held.splice(0)) {
			const what = this.#stage.random.chance(failing) ? "fail" : "complete";
			this.#stage.call(DEEDS[what](held, this.#stage), () => {});
		}
	}

	/** A few leases are held by nobody any more. */
	die(): void {
		this.#held.splice(0, 3);
	}
}
