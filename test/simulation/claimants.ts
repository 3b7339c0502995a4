import type { ClaimRequest, GrantRequest } from "../../src/contract/worker-protocol.ts";
import type { Fleet, OfferedWork } from "./fleet.ts";
import type { GuardKeepers } from "./guard-keepers.ts";
import { type Held, leaseRequests } from "./lease-requests.ts";
import type { Stage } from "./stage.ts";
import type { Steppers } from "./steppers.ts";
import type { StreamWriters } from "./stream-writers.ts";
import type { Suspenders } from "./suspenders.ts";
import { asTenant, CAPABILITIES, LANES, otherThan, type Tenant } from "./tenants.ts";
import { Violation } from "./violation.ts";

/** Those who take work: by claims, said once or again and again, and by grants, accepted soon, late or never. */
export class Claimants {
	readonly #stage: Stage;
	readonly #fleet: Fleet;
	readonly #keepers: GuardKeepers;
	readonly #suspenders: Suspenders;
	readonly #steppers: Steppers;
	readonly #writers: StreamWriters;
	#held: Held[] = [];
	readonly #former: Held[] = [];

	constructor(
		stage: Stage,
		fleet: Fleet,
		keepers: GuardKeepers,
		suspenders: Suspenders,
		steppers: Steppers,
		writers: StreamWriters,
	) {
		this.#stage = stage;
		this.#fleet = fleet;
		this.#keepers = keepers;
		this.#suspenders = suspenders;
		this.#steppers = steppers;
		this.#writers = writers;
	}

	claim(waitMs: number): void {
		const { random, world } = this.#stage;
		const tenant = this.#stage.someTenant();
		const { instanceId, offer } = this.#someone(tenant);
		// An instance of its own per request: what it was given can be told from the events.
		const requestId = random.chance(0.4) ? `r${this.#stage.count()}` : undefined;
		const repeats = requestId === undefined ? 0 : random.integer(0, 3);
		const request = {
			...offer,
			workerId: tenant,
			instanceId: requestId === undefined ? instanceId : `${instanceId}-${requestId}`,
			...(requestId === undefined ? undefined : { requestId }),
			max: random.integer(1, 3),
			leaseMs: random.integer(100, 3000),
			waitMs,
		};
		this.#sendClaim(tenant, request, world.moment, repeats);
		// The other tenant happens to use the same names.
		const other = otherThan(tenant);
		if (requestId !== undefined && random.chance(0.2))
			this.#sendClaim(other, { ...request, workerId: other }, world.moment, repeats);
	}

	/** One claim in calm, with this offer. */
	claimWith(tenant: Tenant, instanceId: string, offer: OfferedWork, waitMs: number): void {
		const request = { ...offer, workerId: tenant, instanceId, max: this.#stage.random.integer(1, 3), waitMs };
		this.#sendClaim(tenant, { ...request, leaseMs: 3000 }, this.#stage.world.moment, 0);
	}

	/** A worker of the fleet, or somebody who claims without ever having registered. */
	#someone(tenant: Tenant): { instanceId: string; offer: OfferedWork } {
		const { random } = this.#stage;
		const member = random.chance(0.6) ? this.#fleet.someone(tenant) : undefined;
		if (member) return member;
		const offer = {
			capabilities: CAPABILITIES.filter(() => random.chance(0.3)),
			...(random.chance(0.3) ? { kinds: ["a"] } : undefined),
			lanes: random.chance(0.5) ? LANES : [random.pick(LANES)],
		};
		return { instanceId: `v${random.integer(1, 4)}`, offer };
	}

	/** Something is reserved, and accepted soon, late, or never; perhaps by somebody else. */
	grant(): void {
		const { random } = this.#stage;
		const tenant = this.#stage.someTenant();
		const { instanceId, offer } = this.#someone(tenant);
		const requestId = random.chance(0.4) ? `r${this.#stage.count()}` : undefined;
		const request = {
			...offer,
			workerId: tenant,
			instanceId: requestId === undefined ? instanceId : `${instanceId}-${requestId}`,
			...(requestId === undefined ? undefined : { requestId }),
			grantTtlMs: random.integer(1, 1500),
			waitMs: random.pick([0, 0, 300]),
		};
		this.#sendGrant(tenant, request, requestId === undefined ? 0 : random.integer(0, 3));
	}

	/** A grant, and perhaps again: its answer may be lost, or late, and another engine may be asked. */
	#sendGrant(tenant: Tenant, request: GrantRequest, repeats: number): void {
		const { checker, random, world } = this.#stage;
		const { instanceId } = request;
		checker.workers.offers(tenant, request.capabilities ?? []);
		this.#stage.call(
			(backend) => asTenant(backend, tenant).leases.grant(request),
			(heard, since) => {
				if (heard.kind !== "ok") return;
				if (request.requestId !== undefined)
					checker.checkRepeatedGrant(tenant, instanceId, heard.value?.grantId, since);
				if (!heard.value || random.chance(0.2)) return;
				const { grantId } = heard.value;
				const by = random.chance(0.1) ? otherThan(tenant) : tenant;
				world.after(random.pick([0, 20, 400, 2000]), () => this.#accept(by, tenant, grantId, instanceId));
			},
		);
		if (repeats > 0) world.after(random.pick([0, 20, 400, 1500]), () => this.#sendGrant(tenant, request, repeats - 1));
	}

	#accept(by: Tenant, tenant: Tenant, grantId: string, instanceId: string): void {
		this.#stage.call(
			(backend) => asTenant(backend, by).leases.acceptGrant(grantId, { instanceId, leaseMs: 2000 }),
			(heard) => {
				if (by !== tenant && heard.kind !== "unknown" && (heard.kind === "ok" || heard.code !== "grant_not_found"))
					throw new Violation(`${by} accepted ${grantId} of ${tenant} and was not told that there is none`);
				if (heard.kind === "ok") this.#gotLease(heard.value.id, heard.value.lease, 0);
			},
		);
	}

	/** A claim, and perhaps again: its answer may be lost, or late, and another engine may be asked. */
	#sendClaim(tenant: Tenant, request: ClaimRequest, firstSent: number, repeats: number): void {
		const { checker, random, world } = this.#stage;
		checker.workers.offers(tenant, request.capabilities ?? []);
		this.#stage.call(
			(backend) => asTenant(backend, tenant).leases.claim(request),
			(heard, since) => {
				if (heard.kind !== "ok") return;
				for (const { id, namespace, lease, signals } of heard.value) {
					if (namespace !== tenant) throw new Violation(`${tenant} claimed and got ${id} of ${namespace}`);
					this.#gotLease(id, lease, firstSent);
					checker.suspensions.checkHandedOver(id, lease.id, signals, checker.during(id, since));
				}
				const told = heard.value.map(({ lease }) => lease.id);
				if (request.requestId !== undefined) checker.checkRepeated(tenant, request.instanceId, told, since);
			},
		);
		if (repeats === 0) return;
		const later = random.pick([0, 20, 400, 1500]);
		world.after(later, () => this.#sendClaim(tenant, request, firstSent, repeats - 1));
	}

	#gotLease(id: string, lease: { id: string; epoch: number }, since: number): void {
		this.#stage.checker.checkClaimed(id, lease.id, since);
		if ([...this.#held, ...this.#former].some(({ fence }) => fence.leaseId === lease.id)) return;
		const held = { id, fence: { leaseId: lease.id, epoch: lease.epoch } };
		this.#held.push(held);
		if (!this.#stage.calm && this.#stage.random.chance(0.4)) this.#run(held);
	}

	/** A handler that waits for somebody as soon as it runs, perhaps at a waitpoint that it opens first. */
	#run(held: Held): void {
		const { random, world } = this.#stage;
		if (random.chance(0.3)) this.#steppers.recall(held.id);
		if (random.chance(0.3)) this.#steppers.record(held);
		if (random.chance(0.5)) this.#writers.append(held);
		if (random.chance(0.4)) this.#suspenders.createWaitpoint(held);
		world.after(random.pick([0, 10, 100, 400]), () => {
			if (this.#held.includes(held)) this.#suspend(held);
		});
	}

	/** A worker does something with a lease it holds, or believes to hold, or held once. */
	useLease(): void {
		const { random } = this.#stage;
		const stale = random.chance(0.15);
		const from = stale ? this.#former : this.#held;
		if (from.length === 0) return;
		const held = random.pick(from);
		if (random.chance(0.2)) this.#keepers.spend(held);
		if (random.chance(0.15)) this.#suspenders.createWaitpoint(held);
		if (random.chance(0.2)) this.#steppers.record(held);
		if (random.chance(0.35)) this.#writers.append(held);
		if (random.chance(0.25)) return this.#suspend(held);
		const op = random.weighted({ complete: 8, renew: 8, fail: 4, release: 2, delay: 2, progress: 2, cancel: 1 });
		const request = leaseRequests[op](held, random);
		this.#stage.ask(op, held.id, request.command, request.call);
		if (op !== "renew" && op !== "progress") this.#letGo(held);
		// The reply may be late or lost, so the worker says it again, perhaps to another engine.
		if (random.chance(0.3)) this.#stage.ask(op, held.id, request.command, request.call);
	}

	/** A worker tells what it does, or a former one what it did. */
	tell(): void {
		const { random } = this.#stage;
		const from = random.chance(0.15) ? this.#former : this.#held;
		if (from.length === 0) return;
		const held = random.pick(from);
		this.#writers.append(held);
		if (random.chance(0.1)) this.#stage.revoke(held.id);
	}

	/** Whoever need not wait goes on, perhaps to the next wait. */
	#suspend(held: Held): void {
		const { random, world } = this.#stage;
		this.#suspenders.suspend(held, () => {
			if (!this.#held.includes(held)) this.#held.push(held);
			if (random.chance(0.5)) world.after(random.pick([0, 10, 200]), () => this.#suspend(held));
		});
		this.#letGo(held);
	}

	/** A few leases are held by nobody any more. */
	die(): void {
		for (const held of [...this.#held].slice(0, 3)) this.#letGo(held);
	}

	forgetAll(): void {
		this.#held = [];
	}

	/** `waits` is how likely it is that one waits for somebody first. */
	completeAll(waits: number): void {
		for (const held of this.#held.splice(0)) {
			if (this.#stage.random.chance(waits)) {
				this.#suspend(held);
				continue;
			}
			const { command, call } = leaseRequests.complete(held);
			this.#stage.ask("complete", held.id, command, call);
		}
	}

	#letGo(held: Held): void {
		this.#held = this.#held.filter((other) => other !== held);
		this.#former.push(held);
		if (this.#former.length > 30) this.#former.shift();
	}
}
