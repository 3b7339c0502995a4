import type { ClaimRequest } from "../../src/contract/worker-protocol.ts";
import { type Held, leaseRequests } from "./lease-requests.ts";
import type { Stage } from "./stage.ts";
import { CAPABILITIES, LANES } from "./tenants.ts";

/** Those who take work: by claims, said once or again and again, and by grants, accepted soon, late or never. */
export class Claimants {
	readonly #stage: Stage;
	#held: Held[] = [];
	readonly #former: Held[] = [];

	constructor(stage: Stage) {
		this.#stage = stage;
	}

	claim(waitMs: number, repeatable = true): void {
		const { random, world, calm } = this.#stage;
		const worker = `w${random.integer(1, 4)}`;
		// An instance of its own per request: what it was given can be told from the events.
		const requestId = repeatable && random.chance(0.4) ? `r${this.#stage.count()}` : undefined;
		const repeats = requestId === undefined ? 0 : random.integer(0, 3);
		const request = {
			lanes: random.chance(0.5) ? LANES : [random.pick(LANES)],
			...(random.chance(0.3) ? { kinds: ["a"] } : undefined),
			capabilities: calm ? CAPABILITIES : CAPABILITIES.filter(() => random.chance(0.5)),
			workerId: worker,
			instanceId: requestId === undefined ? worker : `${worker}-${requestId}`,
			...(requestId === undefined ? undefined : { requestId }),
			max: random.integer(1, 3),
			leaseMs: random.integer(100, 3000),
			waitMs,
		};
		this.#sendClaim(request, world.moment, repeats);
	}

	/** Something is reserved, and accepted soon, late, or never. */
	grant(): void {
		const { random, world } = this.#stage;
		const instanceId = `w${random.integer(1, 4)}`;
		const request = {
			lanes: LANES,
			capabilities: CAPABILITIES.filter(() => random.chance(0.5)),
			workerId: "granted",
			instanceId,
			grantTtlMs: random.integer(1, 1500),
			waitMs: random.pick([0, 0, 300]),
		};
		this.#stage.call(
			(backend) => backend.leases.grant(request),
			(heard) => {
				if (heard.kind !== "ok" || !heard.value || random.chance(0.2)) return;
				const { grantId } = heard.value;
				world.after(random.pick([0, 20, 400, 2000]), () => this.#accept(grantId, instanceId));
			},
		);
	}

	#accept(grantId: string, instanceId: string): void {
		this.#stage.call(
			(backend) => backend.leases.acceptGrant(grantId, { instanceId, leaseMs: 2000 }),
			(heard) => {
				if (heard.kind === "ok") this.#gotLease(heard.value.id, heard.value.lease, 0);
			},
		);
	}

	/** A claim, and perhaps again: its answer may be lost, or late, and another engine may be asked. */
	#sendClaim(request: ClaimRequest, firstSent: number, repeats: number): void {
		const { checker, random, world } = this.#stage;
		this.#stage.call(
			(backend) => backend.leases.claim(request),
			(heard, since) => {
				if (heard.kind !== "ok") return;
				for (const { id, lease } of heard.value) this.#gotLease(id, lease, firstSent);
				const told = heard.value.map(({ lease }) => lease.id);
				if (request.requestId !== undefined) checker.checkRepeated(request.instanceId, told, since);
			},
		);
		if (repeats === 0) return;
		const later = random.pick([0, 20, 400, 1500]);
		world.after(later, () => this.#sendClaim(request, firstSent, repeats - 1));
	}

	#gotLease(id: string, lease: { id: string; epoch: number }, since: number): void {
		this.#stage.checker.checkClaimed(id, lease.id, since);
		const known = [...this.#held, ...this.#former].some(({ fence }) => fence.leaseId === lease.id);
		if (!known) this.#held.push({ id, fence: { leaseId: lease.id, epoch: lease.epoch } });
	}

	/** A worker does something with a lease it holds, or believes to hold, or held once. */
	useLease(): void {
		const { random } = this.#stage;
		const stale = random.chance(0.15);
		const from = stale ? this.#former : this.#held;
		if (from.length === 0) return;
		const held = random.pick(from);
		const op = random.weighted({ complete: 8, renew: 8, fail: 4, release: 2, delay: 2, progress: 2, cancel: 1 });
		const request = leaseRequests[op](held, random);
		this.#stage.ask(op, held.id, request.command, request.call);
		if (op !== "renew" && op !== "progress") this.#letGo(held);
		// The reply may be late or lost, so the worker says it again, perhaps to another engine.
		if (random.chance(0.3)) this.#stage.ask(op, held.id, request.command, request.call);
	}

	/** A few leases are held by nobody any more. */
	die(): void {
		for (const held of [...this.#held].slice(0, 3)) this.#letGo(held);
	}

	forgetAll(): void {
		this.#held = [];
	}

	completeAll(): void {
		for (const held of this.#held.splice(0)) {
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
